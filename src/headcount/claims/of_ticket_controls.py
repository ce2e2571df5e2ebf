"""Tests of claims that set models with equally many heads side by side: tickets, controls and rivals (behnke2020).

Every test pairs the models of `arm` with those of `against` by seed and number of heads
(`headcount.claims.wished_heads`), where the first lack a share of the scope's heads between the limits `removed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from statistics import fmean

import pandas as pd

from headcount.claims.estimate import Estimate, average, over_seeds
from headcount.claims.sweeps import gain
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_most, more_than, weakest
from headcount.claims.wished_heads import Pair, by_seed, named, pairs, without


def beats(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models of an arm are better than those of the other.

    `over`: `mean`, on average over the numbers of heads, or `weakest`, at each of them; the weakest one is given.
    """
    found = _pairs(tables, claim)
    if claim["over"] == "mean":
        return more_than(_mean(found), 0.0, _note(found))
    outcomes = [
        more_than(over_seeds([pair.lead for pair in of_heads]), 0.0, f"at {heads} heads, {_note(of_heads)}")
        for heads, of_heads in _grouped(found, "heads")
    ]
    return weakest(sorted(outcomes, key=lambda outcome: outcome.ours or 0.0))


def is_at_most_ahead(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models of an arm are on average at most `points` BLEU ahead."""
    found = _pairs(tables, claim)
    return at_most(_mean(found), claim["points"], _note(found))


def lead_grows(tables: Tables, claim: Claim) -> Outcome:
    """Test that the lead grows with the heads removed: its least-squares slope over their share, seed by seed."""
    slopes = [_slope(of_seed) for _, of_seed in _grouped(_pairs(tables, claim), "seed") if len(of_seed) > 1]
    if not slopes:
        raise Lacking(f"no seed has pairs of {named(claim['arm'])} and {named(claim['against'])} at two sizes")
    return more_than(over_seeds(slopes), 0.0, "BLEU of lead for each further tenth of the heads removed")


def beats_smaller(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models of an arm are better than the best smaller dense model that decodes at least as fast.

    A speed-up counts as equal up to the share `tolerance`.
    """
    runs = tables["runs"]
    smaller = runs[(runs["method"] == "smaller") & runs["bleu"].notna()].sort_values("bleu")
    rivals: dict[str, pd.Series] = {}
    found = without(tables, claim["scope"], claim["arm"], claim["removed"])
    for _, row in found.iterrows():
        limit = row["speedup"] * (1 - claim["tolerance"])  # nothing is as fast as what was not timed
        as_fast = smaller[(smaller["seed"] == row["seed"]) & (smaller["speedup"] >= limit)]
        if not as_fast.empty:
            rivals[row["run"]] = as_fast.iloc[-1]
    if not rivals:
        raise Lacking("no smaller dense model is timed and as fast")
    leads = by_seed(found[found["run"].isin(rivals)], lambda row: gain(row, rivals[row["run"]]))
    names = ", ".join(sorted({str(rival["variant"]) for rival in rivals.values()}))
    return more_than(over_seeds(list(leads.values())), 0.0, f"BLEU less that of {names}")


def _pairs(tables: Tables, claim: Claim) -> list[Pair]:
    return pairs(tables, claim["scope"], claim["arm"], claim["against"], claim["removed"])


def _mean(found: Sequence[Pair]) -> Estimate:
    return over_seeds([average([pair.lead for pair in of_seed]) for _, of_seed in _grouped(found, "seed")])


def _slope(of_seed: Sequence[Pair]) -> Estimate:
    """Return the slope of the lead in BLEU a tenth of the heads; the errors of the pairs count as independent."""
    centre = fmean(pair.removed for pair in of_seed)
    spread = sum((pair.removed - centre) ** 2 for pair in of_seed)
    weights = [(pair.removed - centre) / spread / 10 for pair in of_seed]
    value = sum(weight * pair.lead.value for weight, pair in zip(weights, of_seed, strict=True))
    errors = [weight * (pair.lead.high - pair.lead.low) / 2 for weight, pair in zip(weights, of_seed, strict=True)]
    half = math.hypot(*errors)
    return Estimate(value, value - half, value + half)


def _grouped(found: Iterable[Pair], name: str) -> list[tuple[int, list[Pair]]]:
    key = attrgetter(name)
    return [(value, list(of_value)) for value, of_value in groupby(sorted(found, key=key), key)]


def _note(found: Sequence[Pair]) -> str:
    rivals = ", ".join(sorted({pair.second for pair in found}))
    return f"BLEU less that of {rivals}, {len(found)} {'pair' if len(found) == 1 else 'pairs'}"
