"""The tables as figures need them: runs that differ only by their seed, with their means and intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headcount.errors import UserError

ORDER = ("baseline", "entmax15", "entmax_alpha", "l0", "round", "ticket", "reinit", "lookup")
"""Order of the methods in tables and legends; others follow by name."""


def read(tables: Path, name: str) -> pd.DataFrame:
    """Read the table `name`.csv of the folder `tables`; an empty text stays empty.

    Raises:
        UserError: there is no such table.

    """
    path = tables / f"{name}.csv"
    try:
        table = pd.read_csv(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such table; run `headcount analyse` first") from None
    for column in ("scope", "setting"):
        if column in table:
            table[column] = table[column].astype("string").fillna("")
    return table


@dataclass(frozen=True)
class Value:
    """A number with its interval; `seeds` above 1: mean and mean ± standard deviation over the seeds."""

    centre: float
    low: float
    high: float
    seeds: int

    @property
    def error(self) -> tuple[float, float]:
        """Lengths of the error bar below and above the centre, never negative."""
        return max(0.0, self.centre - self.low), max(0.0, self.high - self.centre)


@dataclass(frozen=True)
class Group:
    """Runs of one method and setting, one for each seed."""

    method: str
    scope: str
    setting: str
    rows: pd.DataFrame

    @property
    def penalty(self) -> float:
        """The λ of an L0 group, NaN for any other."""
        return float(self.rows["penalty"].iloc[0])

    def value(self, column: str) -> Value | None:
        """Return mean and spread of a column over the seeds that have it; None when none has it."""
        numbers = pd.to_numeric(self.rows[column]).dropna()
        if numbers.empty:
            return None
        mean = float(numbers.mean())
        spread = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
        return Value(mean, mean - spread, mean + spread, len(numbers))

    def bleu(self) -> Value | None:
        """Return BLEU ± standard deviation over the seeds; with one seed its 95 % bootstrap interval."""
        value = self.value("bleu")
        if value is None or value.seeds > 1:
            return value
        row = self.rows[self.rows["bleu"].notna()].iloc[0]
        return Value(value.centre, float(row["bleu_low"]), float(row["bleu_high"]), 1)


def groups(runs: pd.DataFrame) -> list[Group]:
    """Group the rows of `runs.csv` by method, scope and setting: methods in `ORDER`, more heads first."""
    found = [
        Group(str(method), str(scope), str(setting), rows)
        for (method, scope, setting), rows in runs.groupby(["method", "scope", "setting"], sort=False)
    ]
    return sorted(found, key=_place)


def in_order(methods: Iterable[str]) -> list[str]:
    """Sort methods as tables and legends list them."""
    return sorted(methods, key=_rank)


def _rank(method: str) -> tuple[int, str]:
    return (ORDER.index(method) if method in ORDER else len(ORDER) - 1, method)


def _place(group: Group) -> tuple[object, ...]:
    heads = group.value("heads")
    penalty = 0.0 if pd.isna(group.penalty) else group.penalty
    return (*_rank(group.method), group.scope == "all", penalty, -heads.centre if heads else 0.0, group.setting)
