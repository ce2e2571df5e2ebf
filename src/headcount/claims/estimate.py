"""Numbers with a 95 % interval: how they arise and how they are combined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

NORMAL = NormalDist().inv_cdf(0.975)

STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5 % points of Student's t for 1 to 10 degrees of freedom; more get the last, which errs to the wide side."""

SEEDS_FOR_SPREAD = 3
"""From so many seeds on their spread is the interval: two tell nearly nothing of it (t = 12.7)."""


@dataclass(frozen=True)
class Estimate:
    """A number, the ends of its 95 % interval, and the seeds behind it (0: nothing was trained)."""

    value: float
    low: float
    high: float
    seeds: int = 1

    def __add__(self, shift: float) -> Estimate:
        """Shift number and interval."""
        return Estimate(self.value + shift, self.low + shift, self.high + shift, self.seeds)


def within(value: float, tolerance: float) -> Estimate:
    """Give a number of one seed the interval that its claim states as tolerance."""
    return Estimate(value, value - tolerance, value + tolerance)


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    """Combine the numbers of the seeds, one each, to their mean and its interval.

    From three seeds on the t-interval of the mean; with fewer the interval that spans those of the seeds.
    """
    values = [estimate.value for estimate in estimates]
    centre = fmean(values)
    if len(values) < SEEDS_FOR_SPREAD or not all(map(math.isfinite, values)):
        low, high = min(e.low for e in estimates), max(e.high for e in estimates)
        return Estimate(centre, low, high, len(values))
    student = STUDENT[min(len(values) - 1, len(STUDENT)) - 1]
    half = student * stdev(values) / math.sqrt(len(values))
    return Estimate(centre, centre - half, centre + half, len(values))


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of numbers of one seed; their errors count as common to all, which errs to the wide side."""
    value, low, high = (fmean(ends) for ends in zip(*((e.value, e.low, e.high) for e in estimates), strict=True))
    return Estimate(value, low, high, estimates[0].seeds)


def share(hits: float, cases: float) -> Estimate:
    """Return a share with Wilson's interval."""
    if cases <= 0:
        return Estimate(math.nan, 0.0, 1.0)
    centre = (hits + NORMAL**2 / 2) / (cases + NORMAL**2)
    half = NORMAL / (cases + NORMAL**2) * math.sqrt(hits * (cases - hits) / cases + NORMAL**2 / 4)
    return Estimate(hits / cases, centre - half, centre + half)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return first - second with the interval of independent errors (Newcombe's, where both are shares)."""
    value = first.value - second.value
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, low, high, min(first.seeds, second.seeds))


def ratio(first: Estimate, second: Estimate) -> Estimate:
    """Return first / second with Fieller's interval of independent errors; unbounded where the second may be zero."""
    value = first.value / second.value if second.value else math.nan
    error, other = ((e.high - e.low) / 2 for e in (first, second))
    if second.value <= other:
        return Estimate(value, -math.inf, math.inf, first.seeds)
    # the ends are the r with (first - r second)^2 = error^2 + r^2 other^2
    square, product = second.value**2 - other**2, first.value * second.value
    root = math.sqrt((first.value * other) ** 2 + error**2 * square)
    return Estimate(value, (product - root) / square, (product + root) / square, first.seeds)


def correlation(value: float, pairs: int) -> Estimate:
    """Return a rank correlation with Fisher's interval, widened by 1.03 for ranks; unbounded below four pairs."""
    if pairs < 4:
        return Estimate(value, -1.0, 1.0)
    centre = math.atanh(max(-0.999999, min(0.999999, value)))
    half = 1.03 * NORMAL / math.sqrt(pairs - 3)
    return Estimate(value, math.tanh(centre - half), math.tanh(centre + half))
