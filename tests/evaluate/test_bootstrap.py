"""One resampling of each system says what sacreBLEU's own paired test says, bit by bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, _bootstrap_resample

from headcount.evaluate.bootstrap import SEED_VARIABLE, Resampled, compare, resample, signature

WORDS = [f"word{number}" for number in range(30)]
SAMPLES = 60


def text(seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(4, 9))) for _ in range(40)]


REFERENCES = text(0)


def changed(seed: int, share: float) -> list[str]:
    """Return the references with a share of their words replaced."""
    chance = random.Random(seed)
    return [
        " ".join(chance.choice(WORDS) if chance.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


def resampled(lines: list[str], seed: int = 1) -> Resampled:
    return resample(BLEU(force=True, references=[REFERENCES]), lines, samples=SAMPLES, seed=seed)


GOOD, BAD = changed(1, 0.2), changed(2, 0.3)


@pytest.mark.parametrize("seed", [1, 7])
def test_it_agrees_with_the_paired_test_of_sacrebleu(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEED_VARIABLE, str(seed))
    systems = [("baseline", GOOD), ("system", BAD)]
    test = PairedTest(systems, {"BLEU": BLEU(force=True)}, [REFERENCES], test_type="bs", n_samples=SAMPLES)
    signatures, results = test()
    for theirs, ours in zip(results["BLEU"], (resampled(GOOD, seed), resampled(BAD, seed)), strict=True):
        assert ours.bleu == theirs.score
        assert ours.interval == (theirs.mean - theirs.ci, theirs.mean + theirs.ci)
    bleu = BLEU(force=True, references=[REFERENCES])
    counts = [bleu._extract_corpus_statistics(lines, [REFERENCES]) for lines in (GOOD, BAD)]
    good, bad = (np.array([one.score for one in _bootstrap_resample(of, bleu, SAMPLES)[1]]) for of in counts)
    delta, low, high, p_value = compare(resampled(BAD, seed), resampled(GOOD, seed))
    assert delta == results["BLEU"][1].score - results["BLEU"][0].score
    assert (low, high) == tuple(np.percentile(bad - good, (2.5, 97.5)))
    assert p_value == results["BLEU"][1].p_value
    assert signature(bleu, samples=SAMPLES, seed=seed) == str(signatures["BLEU"])


def test_a_system_compared_with_itself_differs_by_nothing() -> None:
    assert compare(resampled(GOOD), resampled(list(GOOD))) == (0, 0, 0, 1)


def test_swapping_the_systems_flips_the_sign() -> None:
    delta, low, high, p_value = compare(resampled(GOOD), resampled(BAD))
    swapped = compare(resampled(BAD), resampled(GOOD))
    assert low < delta < high
    assert swapped == pytest.approx((-delta, -high, -low, p_value))


def test_systems_that_err_alike_have_a_narrow_interval() -> None:
    """Pairing is what makes it narrow: with other resamples for the second system it is wide."""
    close = [*GOOD[:-1], BAD[-1]]
    _, low, high, _ = compare(resampled(GOOD), resampled(close))
    _, wide_low, wide_high, _ = compare(resampled(GOOD), resampled(close, seed=2))
    assert high - low < (wide_high - wide_low) / 3
