"""Numbers over the heads of a model, with the interval that tells how far they hang on single heads."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from headcount.claims.estimate import NORMAL, Estimate
from headcount.claims.tables import Lacking

Floats = npt.NDArray[np.float64]

FEWEST_HEADS = 3
"""A spread without one of the heads needs two others."""


def over_heads(statistic: Callable[..., float], *samples: npt.ArrayLike) -> Estimate:
    """Return a statistic of one or several samples of heads with its 95 % interval, by the jackknife.

    The interval treats heads as independent draws. It speaks of other heads of the same model, not of other seeds, and
    it suits smooth statistics such as means and spreads, not the best of all heads.

    Args:
        statistic: of as many arrays as there are samples.
        samples: one number a head.

    Raises:
        Lacking: a sample has fewer than three heads.

    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if any(len(array) < FEWEST_HEADS for array in arrays):
        raise Lacking(f"fewer than {FEWEST_HEADS} heads to compare")
    value = float(statistic(*arrays))
    variance = 0.0
    for place, array in enumerate(arrays):
        without = [
            statistic(*arrays[:place], np.delete(array, head), *arrays[place + 1 :]) for head in range(len(array))
        ]
        variance += (len(array) - 1) * float(np.var(without))
    half = NORMAL * math.sqrt(variance)
    return Estimate(value, value - half, value + half)


def mean(values: Floats) -> float:
    """Return the mean."""
    return float(values.mean())


def spread(values: Floats) -> float:
    """Return the standard deviation over the heads."""
    return float(values.std(ddof=1))


def mean_gap(first: Floats, second: Floats) -> float:
    """Return the first mean less the second."""
    return mean(first) - mean(second)


def spread_gap(first: Floats, second: Floats) -> float:
    """Return the first standard deviation less the second."""
    return spread(first) - spread(second)


def times(first: Estimate, second: Estimate) -> Estimate:
    """Return how many times the second the first is, with Fieller's interval of independent errors.

    Neither can be negative. Where the second may be 0 there is no upper end.

    Raises:
        Lacking: both are 0.

    """
    a, b = first.value, second.value
    if a == b == 0:
        raise Lacking("none in either model")
    error, other = ((estimate.high - estimate.low) / 2 for estimate in (first, second))
    # the ends are the r with (a - r b)^2 = error^2 + r^2 other^2, that is square r^2 - 2 a b r + rest = 0
    square, rest = b**2 - other**2, a**2 - error**2
    sum_of_both = a * b + math.sqrt(max(0.0, (a * other) ** 2 + error**2 * square))
    low = 0.0 if rest <= 0 else rest / sum_of_both if sum_of_both > 0 else math.inf
    high = sum_of_both / square if square > 0 else math.inf
    return Estimate(a / b if b else math.inf, low, high, first.seeds)
