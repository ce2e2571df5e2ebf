"""Tests of claims on where the lottery takes heads from: attention types and layers (behnke2020).

Every test but the last reads the rounds of a `scope` after which about the share, or each of the shares, `kept` of its
heads is left, up to `apart`; several count as one, their mean. Heads are treated as independent draws.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from headcount.claims.estimate import Estimate, average, correlation, difference, over_seeds, share, within
from headcount.claims.sweeps import of_softmax
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, more_than
from headcount.claims.wished_heads import column, dense_of


def depth_decides(tables: Tables, claim: Claim) -> Outcome:
    """Test that the heads that are left become fewer (`direction: falls`) or more (`rises`) from layer to layer.

    The number is the rank correlation, over the heads of the attention type, of layer and being left.
    """
    sign = {"rises": 1.0, "falls": -1.0}[claim["direction"]]

    def trend(heads: pd.DataFrame) -> Estimate | None:
        if heads["kept"].nunique() < 2 or heads["layer"].nunique() < 2:
            return None
        return correlation(sign * float(heads["layer"].rank().corr(heads["kept"].rank())), len(heads))

    return more_than(_each(tables, claim, trend), 0.0, f"rank correlation of depth and being left, {_which(claim)}")


def ends_outlast_middle(tables: Tables, claim: Claim) -> Outcome:
    """Test that the first and the last layer keep a larger share of their heads than the layers between them."""

    def lead(heads: pd.DataFrame) -> Estimate | None:
        at_end = heads["layer"].isin([0, heads["layer"].max()])
        ends, middle = heads.loc[at_end, "kept"], heads.loc[~at_end, "kept"]
        if middle.empty or heads["kept"].nunique() < 2:
            return None
        return difference(share(ends.sum(), len(ends)), share(middle.sum(), len(middle)))

    return more_than(_each(tables, claim, lead), 0.0, f"share left at both ends less that between, {_which(claim)}")


def first_layer_holds(tables: Tables, claim: Claim) -> Outcome:
    """Test that the first layer has at least the `share` of the heads that the attention type has left."""

    def held(heads: pd.DataFrame) -> Estimate | None:
        left = heads[heads["kept"] == 1]
        return None if left.empty else share(int((left["layer"] == 0).sum()), len(left))

    return at_least(_each(tables, claim, held), claim["share"], f"share of the first layer, {_which(claim)}")


def scores_higher(tables: Tables, claim: Claim) -> Outcome:
    """Test that before anything is removed heads of the attention `more` score higher on average than those of `less`.

    Types whose scores differ in scale compete on unequal terms in one ranking of all heads.
    """
    first = of_softmax(tables["runs"], "round", "all")["run"]
    rounds = tables["rounds"]
    rounds = rounds[rounds["run"].isin(first) & (rounds["round"] == 1)]
    means = rounds.groupby(["seed", "attention"])["score"].mean().unstack()
    if not {claim["more"], claim["less"]} <= set(means.columns):
        raise Lacking("no first round has scores of both attention types")
    leads = means[claim["more"]] - means[claim["less"]]
    return more_than(over_seeds([within(lead, claim["tolerance"]) for lead in leads]), 0.0, "difference of mean scores")


def _each(tables: Tables, claim: Claim, number: Callable[[pd.DataFrame], Estimate | None]) -> Estimate:
    """Return a number of the heads of one attention type, mean over the rounds of a seed, combined over the seeds.

    The number is None where the heads of a round cannot tell, such as when all of them are left.
    """
    rounds = of_softmax(tables["runs"], "round", claim["scope"])
    if rounds.empty:
        raise Lacking(f"no lottery rounds of scope {claim['scope']}")
    found = []
    for seed in rounds["seed"].unique():
        of_seed = rounds[rounds["seed"] == seed]
        left = of_seed[column(claim["scope"])] / dense_of(tables, int(seed))[column(claim["scope"])]
        numbers = []
        for wish in claim["kept"]:
            distance = (left - wish).abs()
            if distance.min() <= claim["apart"]:
                heads = tables["heads"]
                of_run = heads[heads["run"] == of_seed.loc[distance.idxmin(), "run"]]
                told = number(of_run[of_run["attention"] == claim["attention"]])
                numbers += [] if told is None else [told]
        found += [average(numbers)] if numbers else []
    if not found:
        raise Lacking(f"no round with about so many heads left tells anything, {_which(claim)}")
    return over_seeds(found)


def _which(claim: Claim) -> str:
    return f"with {' and '.join(f'{wish:.0%}' for wish in claim['kept'])} of the heads left"
