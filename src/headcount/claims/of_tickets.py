"""Tests of claims on what missing heads cost in BLEU against the dense model of the same seed (behnke2020).

Every test reads `arm`, the models (`headcount.claims.wished_heads`), their `scope`, and as shares of its heads the
least and the most that may be `removed`. Of several models of a seed the mean is taken, so that no lucky one is picked.
"""

from __future__ import annotations

import pandas as pd

from headcount.claims.estimate import Estimate, difference, over_seeds
from headcount.claims.sweeps import gain
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, at_most, more_than
from headcount.claims.wished_heads import by_seed, dense_of, without


def loses_at_most(tables: Tables, claim: Claim) -> Outcome:
    """Test that the missing heads cost at most `points` BLEU."""
    lost, note = _lost(tables, claim)
    return at_most(lost, claim["points"], note)


def loses_at_least(tables: Tables, claim: Claim) -> Outcome:
    """Test that the missing heads cost `points` BLEU or more; 0: that they cost anything."""
    lost, note = _lost(tables, claim)
    judge = more_than if claim["points"] == 0 else at_least
    return judge(lost, claim["points"], note)


def loses_more_at_the_end(tables: Tables, claim: Claim) -> Outcome:
    """Test that shares of heads removed as in `most` cost `points` BLEU more than those in `half`, a knee."""
    scope, arm = claim["scope"], claim["arm"]
    half, most = (_losses(tables, without(tables, scope, arm, claim[name])) for name in ("half", "most"))
    found = [difference(most[seed], half[seed]) for seed in most if seed in half]
    if not found:
        raise Lacking("no seed has models on both sides of the knee")
    return at_least(over_seeds(found), claim["points"], "BLEU lost more by the smaller models")


def _lost(tables: Tables, claim: Claim) -> tuple[Estimate, str]:
    found = without(tables, claim["scope"], claim["arm"], claim["removed"])
    lost = over_seeds(list(_losses(tables, found).values()))
    return lost, f"BLEU lost with {', '.join(found['setting'].unique())}"


def _losses(tables: Tables, found: pd.DataFrame) -> dict[int, Estimate]:
    return by_seed(found, lambda row: gain(dense_of(tables, int(row["seed"])), row))
