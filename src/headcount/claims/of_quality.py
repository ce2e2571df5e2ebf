"""Tests of claims on what sparse attention costs: BLEU on the test set (correia2019 table 1) and speed of training."""

from __future__ import annotations

from math import isnan

import pandas as pd

from headcount.claims.dense_models import ENTMAX15, LEARNED, SOFTMAX, each
from headcount.claims.estimate import Estimate, within
from headcount.claims.sweeps import gain
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least


def keeps_bleu(tables: Tables, claim: Claim) -> Outcome:
    """Test that the models of a `method` are at most `points` BLEU below softmax models of the same seed."""
    lead = each(tables, [claim["method"], SOFTMAX], gain)
    return at_least(lead, -claim["points"], "BLEU less BLEU of softmax")


def never_worst(tables: Tables, claim: Claim) -> Outcome:
    """Test that a learned α is, by BLEU, not the worst of the three attentions."""

    def lead(learned: pd.Series, fixed: pd.Series, softmax: pd.Series) -> Estimate:
        if pd.isna(learned["bleu"]):
            raise Lacking(f"{learned['run']} has no score")
        return gain(learned, fixed if fixed["bleu"] < softmax["bleu"] else softmax)

    return at_least(each(tables, [LEARNED, ENTMAX15, SOFTMAX], lead), 0.0, "BLEU less that of the worse other")


def keeps_speed(tables: Tables, claim: Claim) -> Outcome:
    """Test that a `method` is trained with at least the `share` of the target tokens a second of softmax."""

    def share(sparse: pd.Series, softmax: pd.Series) -> Estimate:
        speeds = [float(row["tokens_per_second"]) for row in (sparse, softmax)]
        if any(map(isnan, speeds)):
            raise Lacking("the speed of training is not known")
        return within(speeds[0] / speeds[1], claim["tolerance"])

    return at_least(each(tables, [claim["method"], SOFTMAX], share), claim["share"], "share of the speed of softmax")
