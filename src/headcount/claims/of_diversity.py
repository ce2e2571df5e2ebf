"""Tests of claims on how different the heads of a layer are: their Jensen-Shannon divergence (correia2019 figure 6)."""

from __future__ import annotations

import pandas as pd

from headcount.claims.dense_models import each, models, of_heads, of_type, weakest
from headcount.claims.estimate import Estimate, within
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, in_every_seed, more_than
from headcount.heads import ATTENTION_TYPES

DIVERSITY = "diversity"


def more_diverse(tables: Tables, claim: Claim) -> Outcome:
    """Test that the heads of `more` are more diverse than those of `less`, layers averaged, in each attention type."""

    def lead(more: pd.Series, less: pd.Series) -> Estimate:
        first, second = (of_heads(tables["observations"], model, DIVERSITY) for model in (more, less))
        gaps = [
            of_type(first, kind)["value"].mean() - of_type(second, kind)["value"].mean() for kind in ATTENTION_TYPES
        ]
        return weakest([within(float(gap), claim["tolerance"]) for gap in gaps])

    found = each(tables, [claim["more"], claim["less"]], lead)
    return more_than(found, 0.0, "difference of the divergences, weakest attention type")


def middle_layers_peak(tables: Tables, claim: Claim) -> Outcome:
    """Test that in each of `attentions` a layer that is neither first nor last is the most diverse, in each method."""
    observations = tables["observations"]
    inside = []
    for rows in models(tables, claim["methods"]):
        peaks = []
        for model in rows:
            for kind in claim["attentions"]:
                layers = of_type(of_heads(observations, model, DIVERSITY), kind).set_index("layer")["value"]
                if len(layers) < 3:
                    raise Lacking("fewer than three layers have no middle")
                peaks.append(layers.index.min() < layers.idxmax() < layers.index.max())
        inside.append(all(peaks))
    return in_every_seed(inside)
