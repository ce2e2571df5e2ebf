"""BLEU of a system on resamples of the test set, and how far apart two systems are on equal ones (Koehn 2004).

sacreBLEU counts n-grams, draws the resamples and scores them. Its own paired test does so anew for every comparison and
tells no interval of the difference; here each system is resampled once, for all that is asked of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import _bootstrap_resample, _compute_p_value, estimate_ci

SEED_VARIABLE = "SACREBLEU_SEED"
"""The only way to hand sacreBLEU a seed for its bootstrap."""


@dataclass(frozen=True)
class Resampled:
    """One system on the test set and on each resample of it.

    Attributes:
        lines: its translations.
        counts: lengths and n-grams that match, of each sentence.
        bleu: on the test set.
        samples: BLEU on each resample; equal seeds draw equal sentences for every system.

    """

    lines: Sequence[str]
    counts: list[list[int]]
    bleu: float
    samples: npt.NDArray[np.float64]

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of BLEU."""
        mean, half = estimate_ci(self.samples)
        return max(0.0, float(mean - half)), min(100.0, float(mean + half))


def resample(bleu: BLEU, lines: Sequence[str], *, samples: int, seed: int) -> Resampled:
    """Score a system with `bleu`, which holds the references, on the test set and on resamples of it."""
    counts = bleu._extract_corpus_statistics(lines, None)
    with _sacrebleu_seed(seed):
        _, scores = _bootstrap_resample(counts, bleu, samples)
    return Resampled(lines, counts, bleu._aggregate_and_compute(counts).score, np.array([one.score for one in scores]))


def compare(system: Resampled, other: Resampled) -> tuple[float, float, float, float]:
    """Return the BLEU of a system less that of another, the ends of its 95 % interval, and the two-sided p-value."""
    apart = system.samples - other.samples
    low, high = np.percentile(apart, (2.5, 97.5))
    delta = system.bleu - other.bleu
    distances = np.abs(apart)
    # sacreBLEU calls a system that equals the other significantly different (p = 1 / (samples + 1))
    same = list(system.lines) == list(other.lines)
    p_value = 1.0 if same else _compute_p_value(distances - distances.mean(), abs(delta))
    return delta, float(low), float(high), p_value


def signature(bleu: BLEU, *, samples: int, seed: int) -> str:
    """Return sacreBLEU's signature of a score and its bootstrap."""
    found = bleu.get_signature()
    found.update("seed", str(_positive(seed)))
    found.update("bs", samples)
    return str(found)


@contextlib.contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    before = os.environ.get(SEED_VARIABLE)
    os.environ[SEED_VARIABLE] = str(_positive(seed))
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED_VARIABLE]
        else:
            os.environ[SEED_VARIABLE] = before


def _positive(seed: int) -> int:
    return seed if seed > 0 else 12345 - seed  # sacreBLEU's paired test takes 0 for "no seed"
