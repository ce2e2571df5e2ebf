"""Tests of claims on the density of attention, the share of the weights above 0 (correia2019 figures 4, 5 and 10)."""

from __future__ import annotations

import pandas as pd

from headcount.claims.dense_models import ENTMAX15, LEARNED, SOFTMAX, each, of_heads, of_type, weakest
from headcount.claims.estimate import Estimate, difference, share, within
from headcount.claims.jackknife import mean, mean_gap, over_heads, spread, times
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, more_than
from headcount.heads import ATTENTION_TYPES

EDGE = 1e-6
"""Bin edges are written with ten digits."""


def softmax_is_dense(tables: Tables, claim: Claim) -> Outcome:
    """Test that no head of a softmax model has a density of less than `density`."""

    def lowest(model: pd.Series) -> Estimate:
        return within(float(of_heads(tables["observations"], model, "density")["value"].min()), 0.0)

    return at_least(each(tables, [SOFTMAX], lowest), claim["density"], "density of the sparsest head")


def more_dense_cells(tables: Tables, claim: Claim) -> Outcome:
    """Test that with a learned α at least `times` as many cells as with 1.5 have a density of `density` or more.

    A cell is a head and a sentence; of the attention types the weakest counts.
    """

    def ratio(*pair: pd.Series) -> Estimate:
        return weakest(
            [times(*(_cells(tables, model, kind, claim["density"], 1) for model in pair)) for kind in ATTENTION_TYPES]
        )

    found = each(tables, [LEARNED, ENTMAX15], ratio)
    return at_least(found, claim["times"], "times the share of dense cells, weakest attention type")


def more_sparse_cells(tables: Tables, claim: Claim) -> Outcome:
    """Test that with a learned α an `attention` has more cells of at most `density` than each of `than`."""

    def lead(model: pd.Series) -> Estimate:
        first, *others = (
            _cells(tables, model, kind, 0, claim["density"]) for kind in (claim["attention"], *claim["than"])
        )
        return weakest([difference(first, other) for other in others])

    return more_than(each(tables, [LEARNED], lead), 0.0, "smallest difference of the shares of sparse cells")


def wider_density(tables: Tables, claim: Claim) -> Outcome:
    """Test that head densities spread at least `times` as far with a learned α as with 1.5, in each attention type."""
    observations = tables["observations"]

    def ratio(learned: pd.Series, fixed: pd.Series) -> Estimate:
        densities = [of_heads(observations, model, "density") for model in (learned, fixed)]
        return weakest(
            [
                times(*(over_heads(spread, of_type(rows, kind)["value"]) for rows in densities))
                for kind in ATTENTION_TYPES
            ]
        )

    found = each(tables, [LEARNED, ENTMAX15], ratio)
    return at_least(found, claim["times"], "times the standard deviation, weakest attention type")


def denser_by_depth(tables: Tables, claim: Claim) -> Outcome:
    """Test that with a learned α the heads of one `half` of the layers are denser, in an `attention`.

    With an odd number of layers the middle one belongs to neither half.
    """

    def lead(model: pd.Series) -> Estimate:
        heads = of_type(of_heads(tables["observations"], model, "density"), claim["attention"])
        layers = int(heads["layer"].max()) + 1
        if layers < 2:
            raise Lacking("one layer has no halves")
        lower = heads[heads["layer"] < layers // 2]["value"]
        upper = heads[heads["layer"] >= layers - layers // 2]["value"]
        pair = (lower, upper) if claim["half"] == "lower" else (upper, lower)
        return over_heads(mean_gap, *pair)

    return more_than(each(tables, [LEARNED], lead), 0.0, "difference of the mean densities of the two halves")


def density_varies(tables: Tables, claim: Claim) -> Outcome:
    """Test that a head's density differs between sentences: a standard deviation of at least `spread` on average."""

    def varies(model: pd.Series) -> Estimate:
        return over_heads(mean, of_heads(tables["links"], model, "density_sd")["value"])

    return at_least(each(tables, [claim["method"]], varies), claim["spread"], "mean over the heads")


def _cells(tables: Tables, model: pd.Series, attention: str, lowest: float, highest: float) -> Estimate:
    """Return the share of the cells whose density lies in the bins between two limits.

    The cells of a sentence count as one case, which errs to the wide side.
    """
    density = tables["density"]
    rows = of_type(density[density["run"] == model["run"]], attention)
    inside = (rows["low"] >= lowest - EDGE) & (rows["high"] <= highest + EDGE)
    heads = len(rows[["layer", "head"]].drop_duplicates())
    return share(rows.loc[inside, "sentences"].sum() / heads, rows["sentences"].sum() / heads)
