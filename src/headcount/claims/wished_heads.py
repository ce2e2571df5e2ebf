"""Models with a wished number of heads as tests of claims see them, and pairs of one seed with equally many.

An *arm* says which models: `{method: ticket, variant: ""}`. The variant is a pattern in which * stands for anything. Of
several that fit, the one with the lowest validation loss at the end, mean over the seeds, stands for the arm at each
number of heads: a rival is seen at the best of the settings that were tried, and the test set chooses none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from headcount.claims.estimate import Estimate, average
from headcount.claims.sweeps import baselines, gain, of_softmax, variants
from headcount.claims.tables import Lacking, Tables

MISSED = 0.05
"""A search for λ whose model is off its wish by more than this share of the heads has no equal number of heads."""

LOSS = "valid/nll"
"""Metric of `curves.csv` by which settings are chosen."""

Arm = Mapping[str, str]


@dataclass(frozen=True)
class Pair:
    """Two models of one seed with the same wished number of heads.

    Attributes:
        seed: of both.
        heads: the wish.
        removed: share of the scope's heads that the first model lacks.
        lead: BLEU of the first less BLEU of the second.
        second: name of the second model's method and variant.

    """

    seed: int
    heads: int
    removed: float
    lead: Estimate
    second: str


def column(scope: str) -> str:
    """Return the column of `runs.csv` that counts the heads which a scope can lose."""
    return "heads_encoder" if scope == "encoder" else "heads"


def dense_of(tables: Tables, seed: int) -> pd.Series:
    """Return the row of a seed's dense model.

    Raises:
        Lacking: there is none.

    """
    found = baselines(tables)
    of_seed = found[found["seed"] == seed]
    if of_seed.empty:
        raise Lacking(f"no dense baseline of seed {seed}")
    return of_seed.iloc[0]


def models(tables: Tables, scope: str, arm: Arm) -> pd.DataFrame:
    """Return the scored models of an arm, one a seed and wished number of heads, the fewest heads last.

    `removed` is the share of the scope's heads that a model lacks. Settings that were tried with fewer seeds than
    others, or never validated, come last in the choice.

    Raises:
        Lacking: there is none.

    """
    found = of_softmax(tables["runs"], arm["method"], scope, arm["variant"])
    found = found[found["target_heads"].notna() & found["bleu"].notna()]
    dense = found["seed"].map(baselines(tables).set_index("seed")[column(scope)])
    heads = found[column(scope)]
    found = found.assign(removed=1 - heads / dense, variant=variants(found), loss=_losses(tables, found["run"]))
    found = found[(heads - found["target_heads"]).abs() <= MISSED * dense]
    if found.empty:
        raise Lacking(f"no models {named(arm)} of scope {scope} with a wished number of heads")
    tried = found.groupby(["target_heads", "variant"]).agg(seeds=("bleu", "count"), loss=("loss", "mean"))
    tried = tried.sort_values(["seeds", "loss"], ascending=[False, True])
    best = tried.groupby(level="target_heads").head(1).index
    chosen = pd.MultiIndex.from_frame(found[["target_heads", "variant"]]).isin(best)
    return found[chosen].sort_values(["seed", "removed"])


def _losses(tables: Tables, runs: pd.Series[str]) -> pd.Series[float]:
    """Return the last validation loss of each run, NaN where it was not validated."""
    curves = tables.frames.get("curves", pd.DataFrame(columns=["run", "update", "metric", "value"]))
    validated = curves[curves["metric"] == LOSS].dropna(subset="value").sort_values("update")
    return runs.map(validated.groupby("run")["value"].last()).astype(float)


def without(tables: Tables, scope: str, arm: Arm, removed: Sequence[float]) -> pd.DataFrame:
    """Return the models of an arm whose share of removed heads lies between two limits, the ends included.

    Raises:
        Lacking: there is none.

    """
    found = models(tables, scope, arm)
    least, most = removed
    found = found[found["removed"].between(least, most)]
    if found.empty:
        raise Lacking(f"no model {named(arm)} of scope {scope} lacks {least:.0%} to {most:.0%} of the heads")
    return found


def pairs(tables: Tables, scope: str, first: Arm, second: Arm, removed: Sequence[float]) -> list[Pair]:
    """Return the pairs of two arms whose first model lacks a share of the heads between two limits.

    Raises:
        Lacking: there is none.

    """
    others = models(tables, scope, second)
    found = [
        Pair(
            int(row["seed"]),
            int(row["target_heads"]),
            float(row["removed"]),
            gain(row, other),
            named({"method": str(other["method"]), "variant": str(other["variant"])}),
        )
        for _, row in without(tables, scope, first, removed).iterrows()
        for _, other in others[
            (others["seed"] == row["seed"]) & (others["target_heads"] == row["target_heads"])
        ].iterrows()
    ]
    if not found:
        raise Lacking(f"no models {named(first)} and {named(second)} of one seed with as many heads")
    return found


def by_seed(rows: pd.DataFrame, number: Callable[[pd.Series], Estimate]) -> dict[int, Estimate]:
    """Return the mean of a number over the rows of each seed."""
    found: dict[int, list[Estimate]] = {}
    for _, row in rows.iterrows():
        found.setdefault(int(row["seed"]), []).append(number(row))
    return {seed: average(numbers) for seed, numbers in found.items()}


def named(arm: Arm) -> str:
    """Name an arm as notes do: `ticket`, `l0 long`."""
    return f"{arm['method']} {arm['variant']}".strip()
