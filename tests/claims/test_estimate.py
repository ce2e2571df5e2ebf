from __future__ import annotations

import math

import pytest

from headcount.claims.estimate import (
    Estimate,
    average,
    correlation,
    difference,
    over_seeds,
    ratio,
    share,
    within,
)


def ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def test_one_or_two_seeds_span_their_own_intervals() -> None:
    assert over_seeds([Estimate(1, 0, 3)]) == Estimate(1, 0, 3, 1)
    assert over_seeds([Estimate(1, 0, 3), Estimate(2, 1.5, 2.5)]) == Estimate(1.5, 0, 3, 2)


def test_three_seeds_have_students_interval_of_their_mean() -> None:
    combined = over_seeds([within(value, 99.0) for value in (1.0, 2.0, 3.0)])
    assert combined.value == 2
    assert combined.high - combined.value == pytest.approx(4.303 / math.sqrt(3))
    assert combined.seeds == 3


def test_more_seeds_of_equal_spread_narrow_the_interval() -> None:
    widths = [over_seeds([within(i % 2, 0.0) for i in range(n)]) for n in (4, 8, 16, 40)]
    assert [w.high - w.low for w in widths] == sorted((w.high - w.low for w in widths), reverse=True)


def test_wilsons_interval_stays_within_0_and_1() -> None:
    assert share(0, 10).low == pytest.approx(0.0)
    assert share(10, 10).high == pytest.approx(1.0)
    assert ends(share(50, 100)) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert ends(share(0, 0)) == (0.0, 1.0)


def test_errors_of_a_difference_add_in_squares() -> None:
    gap = difference(within(5.0, 3.0), within(1.0, 4.0))
    assert (gap.value, *ends(gap)) == (4, -1, 9)


def test_a_ratio_to_what_may_be_zero_has_no_ends() -> None:
    low, high = ends(ratio(within(1, 0.5), within(4, 1)))
    for end in (low, high):
        assert (1 - end * 4) ** 2 == pytest.approx(0.5**2 + end**2)
    assert 0.1 < low < 0.25 < high < 0.5  # the quotients of the ends are wider
    assert ends(ratio(within(1, 0.5), within(1, 1))) == (-math.inf, math.inf)
    assert math.isnan(ratio(within(1, 0.5), within(0, 1)).value)


def test_a_correlation_of_few_pairs_says_nothing() -> None:
    assert ends(correlation(0.9, 3)) == (-1, 1)
    low, high = ends(correlation(0.5, 28))
    assert low == pytest.approx(math.tanh(math.atanh(0.5) - 1.03 * 1.96 / 5), abs=1e-4)
    assert low < 0.5 < high < 1
    assert correlation(1.0, 10).low < 1


def test_an_average_keeps_the_width_of_its_parts() -> None:
    assert average([within(1, 0.5), within(3, 1.5)]) == Estimate(2, 1, 3)


def test_a_shift_moves_the_interval_along() -> None:
    assert Estimate(1, 0, 3) + 2 == Estimate(3, 2, 5)
