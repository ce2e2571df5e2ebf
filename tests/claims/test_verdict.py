from __future__ import annotations

import pytest
from hand_tables import claim

from headcount.claims.estimate import Estimate
from headcount.claims.verdict import Verdict, at_least, at_most, in_every_seed, lacking, more_than, weakest
from headcount.errors import UserError

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("low", "high", "least", "more", "most"),
    [
        (2.0, 3.0, YES, YES, NO),
        (1.0, 3.0, YES, OPEN, OPEN),
        (0.0, 3.0, OPEN, OPEN, OPEN),
        (0.0, 1.0, OPEN, NO, YES),
        (0.0, 0.5, NO, NO, YES),
        (1.0, 1.0, YES, NO, YES),
    ],
)
def test_only_a_whole_interval_decides(low: float, high: float, least: Verdict, more: Verdict, most: Verdict) -> None:
    estimate = Estimate((low + high) / 2, low, high, 3)
    assert [judge(estimate, 1.0).verdict for judge in (at_least, more_than, at_most)] == [least, more, most]


def test_an_unknown_number_decides_nothing() -> None:
    estimate = Estimate(float("nan"), float("nan"), float("nan"), 3)
    assert {judge(estimate, 1.0).verdict for judge in (at_least, more_than, at_most)} == {OPEN}


def test_the_note_warns_of_one_seed_and_of_a_wide_interval() -> None:
    assert at_least(Estimate(1, 1, 1, 1), 0.5, "share").note == "share; one seed"
    assert at_least(Estimate(1, 0, 2, 3), 0.5).note == "the interval is too wide"
    assert at_least(Estimate(1, 1, 1, 3), 0.5).note == ""


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [([True], YES), ([True, True], YES), ([False], NO), ([False, False, False], NO), ([True, False], OPEN)],
)
def test_seeds_that_disagree_leave_a_claim_open(holds: list[bool], verdict: Verdict) -> None:
    assert in_every_seed(holds).verdict == verdict
    assert in_every_seed(holds).seeds == len(holds)


def test_the_weakest_outcome_counts() -> None:
    yes, no = at_least(Estimate(1, 1, 1), 0), at_least(Estimate(1, 1, 1), 2)
    assert weakest([yes, lacking("x")]).verdict == OPEN
    assert weakest([yes, lacking("x"), no]) is no


def test_a_missing_setting_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"claim c: settings lack 'points'.*did you mean 'poinst'"):
        claim("t", poinst=1)["points"]
