"""L0 sweeps as tests of claims see them: one seed's pruned models beside their control and their dense model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pandas as pd

from headcount.claims.estimate import Estimate
from headcount.claims.tables import Lacking, Tables
from headcount.heads import ATTENTION_TYPES

HEADS = ("heads", *(f"heads_{kind}" for kind in ATTENTION_TYPES))

SOFTMAX = "softmax"


@dataclass(frozen=True)
class Sweep:
    """The L0 runs of one seed and scope.

    Attributes:
        seed: of the runs.
        dense: row of the dense baseline.
        control: row of the run with the same updates and no penalty; None where there is none.
        pruned: rows of the others, fewest heads last; `share` is the kept share of the gated heads and
            `share_<attention>` that of one attention type.

    """

    seed: int
    dense: pd.Series
    control: pd.Series | None
    pruned: pd.DataFrame

    def loss(self, run: pd.Series) -> Estimate:
        """Return the BLEU that a run lost against the control, so that both have the same updates.

        Raises:
            Lacking: there is no control.

        """
        if self.control is None:
            raise Lacking("no L0 run with λ = 0 to compare with")
        return gain(self.control, run)

    def between(self, lowest: float, highest: float) -> pd.DataFrame:
        """Return the pruned runs whose kept share lies between two limits, the ends included."""
        return self.pruned[self.pruned["share"].between(lowest, highest)]

    def nearest(self, share: float, lowest: float, highest: float) -> pd.Series:
        """Return the pruned run whose kept share is nearest to `share`.

        Raises:
            Lacking: no run is between the limits.

        """
        runs = self.between(lowest, highest)
        if runs.empty:
            raise Lacking(f"no pruned model keeps between {lowest:.0%} and {highest:.0%} of the gated heads")
        return runs.iloc[int((runs["share"] - share).abs().argmin())]


def sweeps(tables: Tables, scope: str) -> list[Sweep]:
    """Return the sweeps of a scope over the heads of softmax models, one a seed.

    Raises:
        Lacking: no seed has a pruned model of this scope.

    """
    runs = tables["runs"]
    found = [sweep for sweep in _sweeps(runs, scope) if not sweep.pruned.empty]
    if not found:
        raise Lacking(f"no L0 runs of scope {scope}")
    return found


def baselines(tables: Tables) -> pd.DataFrame:
    """Return the rows of the dense softmax models.

    Raises:
        Lacking: there is none.

    """
    runs = tables["runs"]
    dense = runs[runs["method"] == "baseline"]
    if dense.empty:
        raise Lacking("no dense baseline")
    return dense


def of_softmax(runs: pd.DataFrame, method: str, scope: str, variant: str = "") -> pd.DataFrame:
    """Return the rows of a method and scope whose dense model has softmax attention.

    `variant` is a pattern in which * stands for anything; empty is the main variant.
    """
    softmax = runs["parent_normaliser"].isin([SOFTMAX, ""])
    found = runs[(runs["method"] == method) & (runs["scope"] == scope) & softmax]
    return found[variants(found).map(lambda name: fnmatchcase(name, variant)).astype(bool)]


def variants(runs: pd.DataFrame) -> pd.Series[str]:
    """Return the variant of each row; a table from before there were variants has the main one only."""
    named = runs["variant"] if "variant" in runs else pd.Series("", index=runs.index)
    return named.astype(object).where(named.notna(), "").astype(str)  # numbers where every name looks like one


def gain(run: pd.Series, other: pd.Series) -> Estimate:
    """Return the BLEU of a run less that of another of the same seed, with the interval of one test set.

    Where one of the two is the other's partner, it is that of their own paired bootstrap. Otherwise the errors of the
    two differences to the baseline are added as if they were independent. They share the baseline's and are positively
    correlated, so the interval errs to the wide side.
    """
    value = float(run["bleu"]) - float(other["bleu"])
    if _meets(run, other):
        return Estimate(value, float(run["partner_low"]), float(run["partner_high"]))
    if _meets(other, run):
        return Estimate(value, -float(other["partner_high"]), -float(other["partner_low"]))
    half = math.hypot(_error(run), _error(other))
    return Estimate(value, value - half, value + half)


def _meets(run: pd.Series, other: pd.Series) -> bool:
    """Say whether the table has the paired bootstrap of a run against this other one."""
    return pd.notna(run.get("partner_low")) and bool(run["partner"] == other["run"])


def _error(run: pd.Series) -> float:
    """Half the 95 % interval of a run's difference to the baseline, by the paired bootstrap; 0 for the baseline."""
    if pd.isna(run["bleu_delta_low"]):
        return 0.0
    return float(run["bleu_delta_high"] - run["bleu_delta_low"]) / 2


def _sweeps(runs: pd.DataFrame, scope: str) -> Iterator[Sweep]:
    gated = of_softmax(runs, "l0", scope)
    for _, of_seed in gated.groupby(["corpus", "seed"], sort=False):
        same = (runs["corpus"] == of_seed["corpus"].iloc[0]) & (runs["seed"] == of_seed["seed"].iloc[0])
        dense = runs[same & (runs["method"] == "baseline")]
        if dense.empty:
            continue
        control = of_seed[of_seed["penalty"] == 0]
        pruned = of_seed.drop(control.index).sort_values("heads", ascending=False)
        yield Sweep(
            int(of_seed["seed"].iloc[0]),
            dense.iloc[0],
            None if control.empty else control.iloc[0],
            _with_shares(pruned, dense.iloc[0], scope),
        )


def _with_shares(pruned: pd.DataFrame, dense: pd.Series, scope: str) -> pd.DataFrame:
    shares = {f"share_{kind}": pruned[f"heads_{kind}"] / dense[f"heads_{kind}"] for kind in ATTENTION_TYPES}
    everything = pruned["heads"] / dense["heads"]
    return pruned.assign(**shares, share=shares["share_encoder"] if scope == "encoder" else everything)
