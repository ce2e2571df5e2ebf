"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import dense, lacks, verdict

from headcount.claims.of_quality import keeps_bleu, keeps_speed, never_worst
from headcount.claims.tables import Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE
SURE = 1e-6
"""A p-value with which the interval is as narrow as it gets."""


def three(bleu: float, learned: float, **values: Any) -> Tables:
    """Return softmax at BLEU 30 with two sparse models."""
    return study(
        [dense("baseline"), dense("entmax15", bleu=bleu, **values), dense("entmax_alpha", bleu=learned, **values)]
    )


@pytest.mark.parametrize(("bleu", "p_value", "expected"), [(30.5, SURE, YES), (28.0, SURE, NO), (30.2, 0.9, OPEN)])
def test_keeps_bleu(bleu: float, p_value: float, expected: Verdict) -> None:
    asked = claim("t", method="entmax15", points=0.5)
    assert verdict(keeps_bleu, three(bleu, 30, p_value=p_value), asked) == expected
    assert keeps_bleu(three(bleu, 30), asked).ours == pytest.approx(bleu - 30)
    lacks(keeps_bleu, study([dense("entmax15")]), asked, "no dense models entmax15, baseline")


@pytest.mark.parametrize(
    ("bleu", "learned", "p_value", "expected"),
    [(29.0, 29.5, SURE, YES), (31.0, 31.0, SURE, YES), (30.5, 29.0, SURE, NO), (30.5, 30.1, 0.9, OPEN)],
)
def test_never_worst(bleu: float, learned: float, p_value: float, expected: Verdict) -> None:
    assert verdict(never_worst, three(bleu, learned, p_value=p_value), claim("t")) == expected


def test_never_worst_compares_with_the_worse_of_the_others() -> None:
    assert never_worst(three(29.0, 29.5), claim("t")).ours == pytest.approx(0.5)
    assert never_worst(three(31.0, 29.5), claim("t")).ours == pytest.approx(-0.5)
    lacks(never_worst, three(29.0, float("nan")), claim("t"), "entmax_alpha-s1 has no score")
    lacks(never_worst, study([dense("baseline"), dense("entmax_alpha")]), claim("t"), "no dense models")


@pytest.mark.parametrize(("speed", "expected"), [(990, YES), (500, NO), (910, OPEN)])
def test_keeps_speed(speed: float, expected: Verdict) -> None:
    asked = claim("t", method="entmax15", share=0.9, tolerance=0.05)
    runs = [dense("baseline", tokens_per_second=1000.0), dense("entmax15", tokens_per_second=speed)]
    assert verdict(keeps_speed, study(runs), asked) == expected
    runs[1]["tokens_per_second"] = float("nan")
    lacks(keeps_speed, study(runs), asked, "speed of training is not known")
