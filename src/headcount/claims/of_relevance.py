"""Tests of claims on how relevant and how confident heads are (voita2019 section 4), and what that says of roles."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import pandas as pd

from headcount.claims.estimate import Estimate, correlation, over_seeds, within
from headcount.claims.roles import PLACE, Roles, dense_roles
from headcount.claims.sweeps import baselines
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, in_every_seed, more_than

ENCODER = "encoder"


def measures_agree(tables: Tables, claim: Claim) -> Outcome:
    """Test that two `measures` rank the encoder heads of all layers alike: a correlation above 0."""
    agreement = tables["agreement"]
    first, second = claim["measures"]
    names = agreement[["measure_a", "measure_b"]].agg(set, axis=1)
    rows = agreement[(names == {first, second}) & (agreement["attention"] == ENCODER) & (agreement["layer"] == "all")]
    found = [
        correlation(float(row["spearman"]), int(row["heads"]))
        for run in baselines(tables)["run"]
        for _, row in rows[rows["run"] == run].iterrows()
    ]
    if not found:
        raise Lacking(f"no rank correlation of {first} and {second} in agreement.csv")
    return more_than(over_seeds(found), 0.0, "rank correlation over the encoder heads")


def few_dominate(tables: Tables, claim: Claim) -> Outcome:
    """Test that the most relevant head of every layer has at least `times` an equal share of its relevance."""
    relevance = _relevance(tables, claim["measure"])

    def lead(run: str) -> Estimate:
        leads = []
        for _, layer in relevance[relevance["run"] == run].groupby("layer"):
            top = layer.iloc[int(layer["value"].argmax())]
            value, low, high = (float(top[end]) * len(layer) for end in ("value", "low", "high"))
            leads.append(Estimate(value, low, high))
        if not leads:
            raise Lacking(f"{run} has no {claim['measure']} in relevance.csv")
        return min(leads, key=lambda estimate: estimate.value)

    runs = [str(run) for run in baselines(tables)["run"] if (relevance["run"] == run).any()]
    if not runs:
        raise Lacking(f"no {claim['measure']} of a dense model")
    return at_least(over_seeds(list(map(lead, runs))), claim["times"], "times an equal share, weakest layer")


def kind_is_confident(tables: Tables, claim: Claim) -> Outcome:
    """Test that heads of a kind rank high by confidence: a mean rank of at least `rank`, from 0 to 1, the top."""

    def rank(heads: set[tuple[int, int]], confidence: pd.Series) -> Estimate:
        ranks = (confidence.rank() - 1) / (len(confidence) - 1)
        return within(fmean(ranks[list(heads)]), claim["tolerance"])

    return at_least(_of_kind(tables, claim, rank), claim["rank"], "mean rank among the encoder heads")


def confidence_of_kind(tables: Tables, claim: Claim) -> Outcome:
    """Test that heads of a kind have a mean confidence of at least `confidence`."""

    def mean(heads: set[tuple[int, int]], confidence: pd.Series) -> Estimate:
        return within(fmean(confidence[list(heads)]), claim["tolerance"])

    return at_least(_of_kind(tables, claim, mean), claim["confidence"], "mean confidence")


def kind_tops_its_layer(tables: Tables, claim: Claim) -> Outcome:
    """Test that a head of a kind, where there is one in the layer counted from 1, is its most relevant head."""
    tops = [layer["relevance"].idxmax() in heads for heads, layer in _in_layer(tables, claim)]
    return in_every_seed(tops)


def kind_is_an_exception(tables: Tables, claim: Claim) -> Outcome:
    """Test that within its layer a head of a kind ranks higher by relevance than by confidence."""
    ranks = [layer.rank().loc[sorted(heads)].mean() for heads, layer in _in_layer(tables, claim)]
    return in_every_seed([bool(rank["relevance"] > rank["confidence"]) for rank in ranks])


def _of_kind(tables: Tables, claim: Claim, number: Callable[[set[tuple[int, int]], pd.Series], Estimate]) -> Estimate:
    """Return a number of each seed's heads of a kind and the confidence of all heads, combined."""
    found = []
    for roles in dense_roles(tables):
        heads, confidence = roles.heads(claim["kind"]), _confidence(tables, roles)
        if heads:
            found.append(number(heads, confidence))
    if not found:
        raise Lacking(f"no {claim['kind']} heads")
    return over_seeds(found)


def _in_layer(tables: Tables, claim: Claim) -> list[tuple[set[tuple[int, int]], pd.DataFrame]]:
    """Return for each seed the heads of a kind in the claim's layer, with relevance and confidence of its heads."""
    relevance = _relevance(tables, claim["measure"])
    found = []
    for roles in dense_roles(tables):
        relevant = relevance[relevance["run"] == roles.run].set_index(PLACE)["value"].rename("relevance")
        both = relevant.to_frame().join(_confidence(tables, roles).rename("confidence"))
        layer = both[both.index.get_level_values("layer") == claim["layer"] - 1]
        heads = {head for head in roles.heads(claim["kind"]) if head[0] == claim["layer"] - 1}
        if heads and not layer.empty:
            found.append((heads, layer))
    if not found:
        raise Lacking(f"no {claim['kind']} head in layer {claim['layer']} with a known relevance")
    return found


def _confidence(tables: Tables, roles: Roles) -> pd.Series:
    observations = tables["observations"]
    rows = observations[
        (observations["run"] == roles.run)
        & (observations["attention"] == ENCODER)
        & (observations["measure"] == "confidence")
    ]
    if rows.empty:
        raise Lacking(f"{roles.run} has no confidence in observations.csv")
    return rows.astype({"head": int}).set_index(PLACE)["value"]


def _relevance(tables: Tables, measure: str) -> pd.DataFrame:
    relevance = tables["relevance"]
    return relevance[(relevance["attention"] == ENCODER) & (relevance["measure"] == measure)]
