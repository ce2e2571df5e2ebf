"""The tables as figures need them: runs that differ only by their seed, with their means and intervals."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.errors import UserError

DENSE = (
    "baseline",
    "entmax15",
    "entmax_alpha",
    "sparsemax",
    "entmax_fixed",
    "entmax_alpha_layer",
    "entmax_alpha_model",
    "entmax_bisect",
)
PRUNED = (
    *("l0", "scratch", "random", "unnamed", "named"),
    *("round", "ticket", "same_counts", "reinit", "reinit_longer"),
    *("ranked", "subset", "smaller"),
)
"""Methods that leave heads out, or other parts of the model. A method that is in no list is a dense model with a
mixture of normalisers."""

ORDER = (*DENSE, *PRUNED, "lookup")
"""Order of the methods in tables and legends; others follow the dense models by name."""

WHOLE = ("baseline", "smaller", "lookup")
"""Methods that neither remove heads nor make them sparse."""

SOFTMAX = "softmax"

KEYS = ("corpus", "method", "variant", "parent_normaliser", "scope", "setting")
"""Columns that the runs of a group have in common, in the order of its fields."""

TEXTS = (
    *("run", "corpus", "method", "variant", "scope", "setting", "parent", "parent_normaliser", "partner"),
    *("timed_run", "role", "query_token", "key_token"),
)
"""Columns whose cells are text, also where they look like a number or a missing value."""


def read(tables: Path, name: str) -> pd.DataFrame:
    """Read the table `name`.csv of the folder `tables`; an empty text stays empty.

    Raises:
        UserError: there is no such table.

    """
    plain = tables / f"{name}.csv"
    published = (tables / f"{name}.csv.gz", tables.parent / f"{name}.csv")  # large ones, and those beside the page
    path = next((found for found in (plain, *published) if found.is_file()), plain)
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, "string"), keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise UserError(f"{path}: no such table; run `headcount analyse` first") from None
    texts = [column for column in TEXTS if column in table]
    table[texts] = table[texts].fillna("")
    return table


def corpora(runs: pd.DataFrame) -> list[str]:
    """Return the corpora of a study, in its order."""
    return [str(corpus) for corpus in runs["corpus"].unique()]


def main_corpus(runs: pd.DataFrame) -> str:
    """Return the corpus that a study is about: the first in which heads were removed or are sparse, or the first."""
    about = runs.loc[~runs["method"].isin(WHOLE), "corpus"]
    return str(next(iter(about), runs["corpus"].iloc[0]))


def of_main(runs: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that belong to the main corpus."""
    return table[table["corpus"] == main_corpus(runs)]


def note(runs: pd.DataFrame, corpus: str) -> str:
    """Return what a title adds to say which corpus is drawn: nothing when the study has only one."""
    return f", {corpus}" if len(corpora(runs)) > 1 else ""


def paper_numbers(tables: Path, paper: str, item: str) -> pd.DataFrame:
    """Return the numbers that a paper prints in a table or figure: series, x, y, unit and source, one number a row.

    Without a table of the papers' numbers there are none; a figure then shows ours alone.
    """
    if not (tables / "paper_numbers.csv").is_file():
        return pd.DataFrame(columns=["paper", "item", "series", "x", "y", "unit", "source"])
    numbers = read(tables, "paper_numbers")
    return numbers[(numbers["paper"] == paper) & (numbers["item"] == item)]


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
    """Runs of one corpus, method, variant, normaliser and setting, one for each seed."""

    corpus: str
    method: str
    variant: str
    normaliser: str
    scope: str
    setting: str
    rows: pd.DataFrame

    @property
    def penalty(self) -> float:
        """The λ of an L0 group, NaN for any other and where λ was searched for."""
        return float(self.rows["penalty"].iloc[0])

    @functools.cached_property
    def target_heads(self) -> int | None:
        """The number of heads of its scope that the group was to leave; None without such a wish."""
        asked = self.value("target_heads")
        return int(asked.centre) if asked else None

    @property
    def first_run(self) -> str:
        """Id of the run of the first seed."""
        return str(self.rows.sort_values("seed")["run"].iloc[0])

    @property
    def label(self) -> str:
        """The setting as figures print it: `λ = 0.01`."""
        return self.setting.replace("=", " = ")

    def value(self, column: str) -> Value | None:
        """Return mean and spread of a column over the seeds that have it; None when none has it."""
        return over_seeds(self.rows[column]) if column in self.rows else None

    def bleu(self) -> Value | None:
        """Return BLEU ± standard deviation over the seeds; with one seed its 95 % bootstrap interval."""
        value = self.value("bleu")
        if value is None or value.seeds > 1:
            return value
        row = self.rows[self.rows["bleu"].notna()].iloc[0]
        return Value(value.centre, float(row["bleu_low"]), float(row["bleu_high"]), 1)


def over_seeds(numbers: pd.Series[Any]) -> Value | None:
    """Return mean and standard deviation of one number a seed; None when there is none."""
    known = pd.to_numeric(numbers).dropna()
    if known.empty:
        return None
    mean = float(known.mean())
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return Value(mean, mean - spread, mean + spread, len(known))


def differences(group: Group, other: Group, column: str = "bleu") -> pd.Series[float]:
    """Return by how much a group is ahead of another in each seed that both have."""
    values = [pd.to_numeric(one.rows.set_index("seed")[column]) for one in (group, other)]
    return (values[0] - values[1]).dropna()


def groups(runs: pd.DataFrame) -> list[Group]:
    """Return `tried`, of each method with its main settings only."""
    return [group for group in tried(runs) if not group.variant]


def tried(runs: pd.DataFrame) -> list[Group]:
    """Group the rows of `runs.csv` that differ only by their seed: the main corpus first, methods in `ORDER`.

    Within a method come models pruned from softmax first, the encoder before all heads, the main settings before the
    variants, then more heads first.
    """
    keys = {name: _texts(runs, name) for name in KEYS}
    keys["parent_normaliser"] = keys["parent_normaliser"].replace("", SOFTMAX)
    found = []
    for key, rows in runs.groupby(list(keys.values()), sort=False):
        corpus, method, variant, normaliser, scope, setting = map(str, key)
        found.append(Group(corpus, method, variant, normaliser, scope, setting, rows))
    order = {corpus: place for place, corpus in enumerate(keys["corpus"].unique())}
    return sorted(found, key=lambda group: (order[group.corpus], *_place(group)))


def _texts(runs: pd.DataFrame, column: str) -> pd.Series[str]:
    """Return a column of texts; empty in a table from before the column existed."""
    return runs[column].fillna("") if column in runs else pd.Series("", index=runs.index, name=column)


def gated_everywhere(runs: pd.DataFrame) -> dict[str, list[Group]]:
    """Return the softmax models with gates in all attentions by corpus, each corpus's dense ones first."""
    found = [group for group in groups(runs) if group.normaliser == SOFTMAX]
    gated = [group for group in found if (group.method, group.scope) == ("l0", "all")]
    both = [*(group for group in found if group.method == "baseline"), *gated]
    shown = {group.corpus for group in gated}
    return {name: [group for group in both if group.corpus == name] for name in corpora(runs) if name in shown}


def in_order(methods: Iterable[str]) -> list[str]:
    """Sort methods as tables and legends list them."""
    return sorted(methods, key=_rank)


def _rank(method: str) -> tuple[int, str]:
    if method in ORDER:
        place = ORDER.index(method)
        return place + (place >= len(DENSE)), method
    return len(DENSE), method


def _place(group: Group) -> tuple[object, ...]:
    heads = group.value("heads")
    settings = (pd.isna(group.penalty), 0.0 if pd.isna(group.penalty) else group.penalty)
    place = (*_rank(group.method), group.normaliser != SOFTMAX, group.normaliser, group.scope == "all", group.variant)
    return (*place, *settings, -heads.centre if heads else 0.0, group.setting)
