from __future__ import annotations

import math

import numpy as np
import pytest

from headcount.claims.estimate import NORMAL, Estimate, within
from headcount.claims.jackknife import mean, mean_gap, over_heads, spread, spread_gap, times
from headcount.claims.tables import Lacking

VALUES = [1.0, 2.0, 4.0, 9.0]


def test_the_interval_of_a_mean_is_its_standard_error() -> None:
    estimate = over_heads(mean, VALUES)
    assert estimate.value == 4.0
    assert estimate.high - estimate.value == pytest.approx(NORMAL * np.std(VALUES, ddof=1) / 2)
    assert estimate.value - estimate.low == pytest.approx(estimate.high - estimate.value)


def test_errors_of_two_samples_add_in_squares() -> None:
    first, second = (over_heads(mean, sample) for sample in (VALUES, [0.0, 1.0, 5.0]))
    gap = over_heads(mean_gap, VALUES, [0.0, 1.0, 5.0])
    assert gap.value == first.value - second.value
    assert gap.high - gap.value == pytest.approx(math.hypot(first.high - first.value, second.high - second.value))


def test_a_spread_does_not_depend_on_the_level() -> None:
    low, high = over_heads(spread, VALUES), over_heads(spread, [value + 7 for value in VALUES])
    assert high.value == pytest.approx(low.value)
    assert high.high == pytest.approx(low.high)
    assert over_heads(spread_gap, VALUES, VALUES).value == 0


def test_equal_heads_have_no_error() -> None:
    assert over_heads(mean, [0.5] * 4) == Estimate(0.5, 0.5, 0.5)


def test_two_heads_are_too_few() -> None:
    with pytest.raises(Lacking, match="fewer than 3 heads"):
        over_heads(mean_gap, VALUES, [1.0, 2.0])


def test_the_ends_of_a_ratio_are_where_the_difference_is_no_longer_clear() -> None:
    ratio = times(within(6.0, 1.0), within(2.0, 0.5))
    assert ratio.value == 3
    for end in (ratio.low, ratio.high):
        assert (6 - end * 2) ** 2 == pytest.approx(1 + (end * 0.5) ** 2)


def test_a_ratio_to_nearly_nothing_has_a_lower_end_only() -> None:
    ratio = times(within(6.0, 1.0), within(0.1, 0.2))
    assert (ratio.value, ratio.high) == (pytest.approx(60), math.inf)
    assert (6 - ratio.low * 0.1) ** 2 == pytest.approx(1 + (ratio.low * 0.2) ** 2)
    assert times(within(6.0, 1.0), within(0.0, 0.0)) == Estimate(math.inf, math.inf, math.inf)


def test_a_ratio_of_exact_numbers_is_exact() -> None:
    assert times(within(0.3, 0.0), within(0.1, 0.0)) == Estimate(*[pytest.approx(3.0)] * 3)
    nothing = times(within(0.0, 0.0), within(2.0, 0.5))
    assert (nothing.value, nothing.low, nothing.high) == (0, 0, 0)


def test_a_ratio_of_two_unclear_numbers_says_nothing() -> None:
    ratio = times(within(0.1, 0.2), within(0.1, 0.2))
    assert (ratio.low, ratio.high) == (0, math.inf)
    with pytest.raises(Lacking, match="none in either model"):
        times(within(0.0, 0.0), within(0.0, 0.0))
