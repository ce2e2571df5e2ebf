"""Tests of claims on time: how fast models with fewer heads decode and train, and what finding them costs (behnke2020).

Models are those of an `arm` and `scope` that lack a share of the heads between the limits `removed`
(`headcount.claims.wished_heads`); several of a seed count as one, their mean.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

import pandas as pd

from headcount.claims.estimate import Estimate, over_seeds, within
from headcount.claims.sweeps import baselines, of_softmax
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, at_most, more_than
from headcount.claims.wished_heads import by_seed, dense_of, without


def decodes_faster(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models decode at least `factor` times as fast as the dense one.

    `search` is `greedy` or `beam`, the largest beam that was timed; `sentences_per_batch` are decoded together.
    """
    return at_least(_timed(tables, claim, _speedup), claim["factor"], f"times as fast, {claim['search']}")


def stays_below_ceiling(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models are not faster than the matrix products that they save allow.

    What is above that bound needs a profile to explain it. `search` and `sentences_per_batch` as above.
    """

    def use(row: pd.Series) -> Estimate:
        if pd.isna(row["ceiling"]):
            raise Lacking("no bound of the speed-up")
        return _scaled(_speedup(row), 1 / float(row["ceiling"]))

    return at_most(_timed(tables, claim, use), 1.0, f"speed-up by its bound, {claim['search']}")


def trains_faster(tables: Tables, claim: Claim) -> Outcome:
    """Test that training without at least the share `removed` of all heads takes at most the `share` of dense time.

    Time is that of one update. `method` is `round`, whose model still has the heads that go in this round, or `ticket`.
    """
    rows = of_softmax(tables["runs"], claim["method"], "all")
    heads = tables["rounds"].groupby("run").size() if claim["method"] == "round" else rows.set_index("run")["heads"]
    dense = baselines(tables).set_index("seed")
    left = rows["run"].map(heads).astype(float) / rows["seed"].map(dense["heads"])
    rows = rows[(left <= 1 - claim["removed"]) & rows["seconds_per_update"].notna()]
    if rows.empty:
        raise Lacking(f"no {claim['method']} trains without {claim['removed']:.0%} of the heads")

    def ratio(row: pd.Series) -> Estimate:
        return _by_dense(tables, row, "seconds_per_update", claim["tolerance"])

    found = over_seeds(list(by_seed(rows, ratio).values()))
    return at_most(found, claim["share"], "time of an update by that of the dense model")


def costs_more_training(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models, with all that led to them, need more updates than the dense one."""
    found = without(tables, claim["scope"], claim["arm"], claim["removed"])
    ratios = by_seed(found, lambda row: _by_dense(tables, row, "updates_total", 0.0))
    return more_than(over_seeds(list(ratios.values())), 1.0, "updates by those of the dense model")


def _timed(tables: Tables, claim: Claim, number: Callable[[pd.Series], Estimate]) -> Estimate:
    """Return a number of the timings of the claim's models."""
    found = without(tables, claim["scope"], claim["arm"], claim["removed"])
    speeds = tables["speeds"]
    speeds = speeds[speeds["sentences_per_batch"] == claim["sentences_per_batch"]]
    searched = {"greedy": speeds["beam"] == 1, "beam": (speeds["beam"] > 1) & (speeds["beam"] == speeds["beam"].max())}
    timed = found[["run", "seed"]].merge(speeds[searched[claim["search"]]], on="run")
    if timed.empty:
        raise Lacking(f"no timings of {claim['search']} search in batches of {claim['sentences_per_batch']}")
    return over_seeds(list(by_seed(timed, number).values()))


def _by_dense(tables: Tables, row: pd.Series, column: str, tolerance: float) -> Estimate:
    ratio = float(row[column] / dense_of(tables, int(row["seed"]))[column])
    if isnan(ratio):
        raise Lacking(f"no {column} of {row['run']} and its dense model")
    return within(ratio, tolerance)


def _speedup(row: pd.Series) -> Estimate:
    """Return a speed-up; its interval goes from the slowest to the fastest repetition."""
    value, seconds = float(row["speedup"]), float(row["seconds_per_sentence"])
    return Estimate(value, value * seconds / float(row["high"]), value * seconds / float(row["low"]))


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor, estimate.seeds)
