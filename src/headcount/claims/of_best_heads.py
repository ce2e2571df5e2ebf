"""Tests of claims on the encoder head that does one thing best, and on its α (correia2019 figures 7, 8 and 9).

Measures are mean weights of `links.csv`: on the neighbour of a token, on the other pieces of its word, on the question
mark when an interrogative word asks.
"""

from __future__ import annotations

import pandas as pd

from headcount.claims.dense_models import ENCODER, LEARNED, each, models, of_heads, of_type, weakest
from headcount.claims.estimate import Estimate, within
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, at_most, in_every_seed, more_than


def best_in_order(tables: Tables, claim: Claim) -> Outcome:
    """Test that the best head of `more` does better by the `measure` than the best head of `less`."""

    def lead(more: pd.Series, less: pd.Series) -> Estimate:
        first, second = (float(_best(tables, model, claim["measure"])["value"]) for model in (more, less))
        return within(first - second, claim["tolerance"])

    found = each(tables, [claim["more"], claim["less"]], lead)
    return more_than(found, 0.0, "difference of the best heads' weights")


def best_is_clear(tables: Tables, claim: Claim) -> Outcome:
    """Test that in the models of each of `methods` some head has at least the `weight`."""

    def lowest(*rows: pd.Series) -> Estimate:
        found = [float(_best(tables, model, claim["measure"])["value"]) for model in rows]
        return weakest([within(value, claim["tolerance"]) for value in found])

    return at_least(each(tables, claim["methods"], lowest), claim["weight"], "weight of the best head, weakest model")


def more_heads_above(tables: Tables, claim: Claim) -> Outcome:
    """Test that `more` has at least `surplus` more heads than `less` with the `weight` or above."""

    def surplus(more: pd.Series, less: pd.Series) -> Estimate:
        counts = [
            int((_encoder(tables, model, claim["measure"])["value"] >= claim["weight"]).sum()) for model in (more, less)
        ]
        return within(counts[0] - counts[1], 0.0)

    found = each(tables, [claim["more"], claim["less"]], surplus)
    return at_least(found, claim["surplus"], f"difference of the numbers of heads from {claim['weight']:g} on")


def best_is_in_layer(tables: Tables, claim: Claim) -> Outcome:
    """Test that the best head of each of `methods` stands in the `layer`, counted from 1."""
    found = []
    for rows in models(tables, claim["methods"]):
        layers = [int(_best(tables, model, claim["measure"])["layer"]) + 1 for model in rows]
        found.append(layers)
    right = [set(layers) == {claim["layer"]} for layers in found]
    return in_every_seed(right, f"layers: {' | '.join(', '.join(map(str, layers)) for layers in found)}")


def alpha_of_best(tables: Tables, claim: Claim) -> Outcome:
    """Test that the head that is best by the `measure` has learned an α of `at least` or `at most` (`side`) `alpha`."""

    def learned(model: pd.Series) -> Estimate:
        best = _best(tables, model, claim["measure"])
        alpha = _encoder(tables, model, "alpha", "observations")
        own = alpha[(alpha["layer"] == best["layer"]) & (alpha["head"] == best["head"])]
        return within(float(own["value"].iloc[0]), claim["tolerance"])

    judge = {"at least": at_least, "at most": at_most}[claim["side"]]
    return judge(each(tables, [LEARNED], learned), claim["alpha"], "α of the best head")


def _encoder(tables: Tables, model: pd.Series, measure: str, table: str = "links") -> pd.DataFrame:
    return of_type(of_heads(tables[table], model, measure), ENCODER)


def _best(tables: Tables, model: pd.Series, measure: str) -> pd.Series:
    rows = _encoder(tables, model, measure).dropna(subset=["value"])
    if rows.empty:
        raise Lacking(f"{model['run']}: nothing to measure {measure} on")
    return rows.iloc[int(rows["value"].argmax())]
