"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hand_tables import claim, study
from sparse_tables import by_layer, dense, everywhere, lacks, verdict

from headcount.claims.of_diversity import middle_layers_peak, more_diverse
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

MODELS = [dense("baseline"), dense("entmax15")]


@pytest.mark.parametrize(("cross", "expected"), [((0.3, 0.4), YES), ((0.2, 0.3), NO), ((0.26, 0.35), OPEN)])
def test_more_diverse(cross: Sequence[float], expected: Verdict) -> None:
    asked = claim("t", more="entmax15", less="baseline", tolerance=0.01)
    sparse = {**everywhere((0.5, 0.6)), "decoder_cross": cross}
    rows = by_layer("baseline", **everywhere((0.4, 0.2))) + by_layer("entmax15", **sparse)
    assert verdict(more_diverse, study(MODELS, observations=rows), asked) == expected
    lacks(more_diverse, study(MODELS, observations=rows[:6]), asked, "entmax15-s1 has no diversity")
    lacks(more_diverse, study(MODELS, observations=rows[:-2]), asked, "no head of type decoder_cross")


@pytest.mark.parametrize(
    ("encoder", "expected"), [((0.1, 0.3, 0.2), YES), ((0.4, 0.3, 0.2), NO), ((0.1, 0.2, 0.3), NO)]
)
def test_middle_layers_peak(encoder: Sequence[float], expected: Verdict) -> None:
    asked = claim("t", methods=["entmax15"], attentions=["encoder", "decoder_cross"])
    rows = by_layer("entmax15", encoder=encoder, decoder_cross=(0.1, 0.3, 0.2), decoder_self=(0.3, 0.2, 0.1))
    assert verdict(middle_layers_peak, study(MODELS, observations=rows), asked) == expected
    two_layers = [row for row in rows if row["layer"] < 2]
    lacks(middle_layers_peak, study(MODELS, observations=two_layers), asked, "fewer than three layers")


def test_seeds_that_disagree_leave_the_peak_open() -> None:
    rows = by_layer("entmax15", encoder=(0.1, 0.3, 0.2))
    other = [{**row, "run": "entmax15-s2"} for row in by_layer("entmax15", encoder=(0.3, 0.2, 0.1))]
    tables = study([dense("entmax15"), dense("entmax15", seed=2)], observations=rows + other)
    assert verdict(middle_layers_peak, tables, claim("t", methods=["entmax15"], attentions=["encoder"])) == OPEN
