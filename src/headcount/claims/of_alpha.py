"""Tests of claims on the learned α of the heads: where it ends, and how it gets there (correia2019 figures 2 and 3)."""

from __future__ import annotations

import pandas as pd

from headcount.claims.dense_models import HEAD, LEARNED, each, of_heads, of_type, weakest
from headcount.claims.estimate import Estimate, correlation, share
from headcount.claims.jackknife import Floats, mean, mean_gap, over_heads, spread_gap
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, at_most, more_than

GAPS = {"mean": mean_gap, "spread": spread_gap}


def alpha_is_larger(tables: Tables, claim: Claim) -> Outcome:
    """Test that the α of one `attention` have a larger `statistic`, mean or spread, than those of each of `than`."""

    def lead(model: pd.Series) -> Estimate:
        alpha = of_heads(tables["observations"], model, "alpha")
        first = of_type(alpha, claim["attention"])["value"]
        gap = GAPS[claim["statistic"]]
        return weakest([over_heads(gap, first, of_type(alpha, other)["value"]) for other in claim["than"]])

    return more_than(each(tables, [LEARNED], lead), 0.0, f"smallest difference of the {claim['statistic']}")


def alpha_has_upper_mode(tables: Tables, claim: Claim) -> Outcome:
    """Test that more heads of an `attention` end above the `valley`, a range of α, than inside it."""
    low, high = claim["valley"]

    def lead(model: pd.Series) -> Estimate:
        alpha = of_type(of_heads(tables["observations"], model, "alpha"), claim["attention"])["value"]

        def surplus(values: Floats) -> float:
            return float((values >= high).mean() - ((values >= low) & (values < high)).mean())

        return over_heads(surplus, alpha)

    return more_than(
        each(tables, [LEARNED], lead), 0.0, f"share of heads from {high:g} on less share in {low:g}-{high:g}"
    )


def alpha_dips(tables: Tables, claim: Claim) -> Outcome:
    """Test that the mean α lies below its start in the `window`, two shares of the training."""

    def fall(model: pd.Series) -> Estimate:
        path = _trajectories(tables, model)
        low, high = (end * path.index[-1] for end in claim["window"])
        early = path[(path.index >= low) & (path.index <= high)]
        if early.empty:
            raise Lacking("α was not recorded in this part of the training")
        return over_heads(mean, path.iloc[0] - early.mean())

    return more_than(each(tables, [LEARNED], fall), 0.0, "fall of the mean α")


def alpha_forgets_its_start(tables: Tables, claim: Claim) -> Outcome:
    """Test that the rank correlation of α at the start and at the end is at most `correlation`."""

    def likeness(model: pd.Series) -> Estimate:
        path = _trajectories(tables, model)
        return correlation(path.iloc[0].rank().corr(path.iloc[-1].rank()), path.shape[1])

    return at_most(each(tables, [LEARNED], likeness), claim["correlation"], "rank correlation over all heads")


def alpha_turns(tables: Tables, claim: Claim) -> Outcome:
    """Test that at least `share` of the heads fall by `depth` in α and later rise by as much."""

    def turning(model: pd.Series) -> Estimate:
        path = _trajectories(tables, model)
        lowest = path.min()
        there_and_back = (path.iloc[0] - lowest >= claim["depth"]) & (path.iloc[-1] - lowest >= claim["depth"])
        return share(int(there_and_back.sum()), path.shape[1])

    return at_least(each(tables, [LEARNED], turning), claim["share"], "share of all heads")


def _trajectories(tables: Tables, model: pd.Series) -> pd.DataFrame:
    """Return the α of a model's training: a row for each update that was recorded, a column for each head."""
    alpha = tables["alpha"]
    rows = alpha[alpha["run"] == model["run"]]
    if rows["update"].nunique() < 2:
        raise Lacking(f"{model['run']} has no α over the updates")
    paths: pd.DataFrame = rows.pivot(index="update", columns=HEAD, values="alpha")
    return paths.sort_index()
