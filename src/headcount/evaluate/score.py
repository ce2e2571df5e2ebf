"""Scores of a translated test set: BLEU with its interval, chrF, and the paired test against the baseline.

Everything is computed by sacreBLEU on detokenised raw text; its signatures are stored beside the scores.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, _bootstrap_resample

from headcount.errors import UserError
from headcount.registry import nearest

SEED_VARIABLE = "SACREBLEU_SEED"
"""The only way to hand sacreBLEU a seed for its bootstrap."""


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    baseline: Sequence[str] | None,
    subset: Sequence[int],
    tokenizer: str,
    bootstrap_samples: int,
    seed: int,
) -> dict[str, Any]:
    """Score one system against one reference per sentence.

    Args:
        hypotheses: detokenised translations.
        references: detokenised references, one for each translation.
        baseline: translations of the same sentences by the system to compare with; None for itself.
        subset: indices of the sentences that have no near-duplicate in the training part.
        tokenizer: sacreBLEU's tokenizer of the BLEU scores.
        bootstrap_samples: resamples of the interval and of the paired test.
        seed: of the resampling; equal seeds draw equal resamples for every system.

    Returns:
        JSON-able values. `bleu_low` and `bleu_high` are the 95 % bootstrap interval, `bleu_delta_low` and
        `bleu_delta_high` that of the difference to the baseline on equal resamples, `p_value` is two-sided,
        `suspect` marks an output without a single word. What cannot be computed is None.

    Raises:
        UserError: the numbers of sentences differ, an index is out of range, or the tokenizer is unusable.

    """
    texts = {"hypotheses": hypotheses, "references": references}
    if baseline is not None:
        texts["translations of the baseline"] = baseline
    _require_equal_counts(texts)
    outside = [index for index in subset if not 0 <= index < len(references)]
    if outside:
        raise UserError(f"subset: index {outside[0]} is out of range; allowed: 0 to {len(references) - 1}")

    bleu = _bleu(tokenizer)
    systems = [(name, lines) for name, lines in (("baseline", baseline), ("system", hypotheses)) if lines is not None]
    with _sacrebleu_seed(seed):
        test = PairedTest(systems, {"BLEU": bleu}, [references], test_type="bs", n_samples=bootstrap_samples)
        signatures, results = test()
    own: Any = results["BLEU"][-1]
    chrf = CHRF()
    chrf_score = chrf.corpus_score(hypotheses, [references]).score
    values: dict[str, Any] = {
        "sentences": len(hypotheses),
        "bleu": own.score,
        "bleu_low": max(0.0, float(own.mean - own.ci)),
        "bleu_high": min(100.0, float(own.mean + own.ci)),
        "chrf": chrf_score,
        "bleu_delta": None,
        "bleu_delta_low": None,
        "bleu_delta_high": None,
        "p_value": None,
        "bleu_without_near_duplicates": _on_subset(bleu, hypotheses, references, subset),
        "sentences_without_near_duplicates": len(set(subset)),
        "signatures": {"bleu": str(signatures["BLEU"]), "chrf": str(chrf.get_signature())},
        "empty": _empties(hypotheses, references),
        "suspect": not any(line.strip() for line in hypotheses),
    }
    if baseline is not None:
        reference: Any = results["BLEU"][0]
        values["bleu_delta"] = own.score - reference.score
        with _sacrebleu_seed(seed):
            low, high = _delta_interval(bleu, baseline, hypotheses, references, bootstrap_samples)
        values["bleu_delta_low"], values["bleu_delta_high"] = low, high
        # sacreBLEU calls a system that equals its baseline significantly different (p = 1 / (samples + 1))
        values["p_value"] = 1.0 if list(hypotheses) == list(baseline) else own.p_value
    return values


def _delta_interval(
    bleu: BLEU, baseline: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], samples: int
) -> tuple[float, float]:
    """Return the 95 % interval of the difference in BLEU, both systems resampled alike (Koehn 2004).

    sacreBLEU draws these resamples itself but reports only a p-value of them.
    """
    first, second = (
        np.array([one.score for one in _bootstrap_resample(statistics, bleu, samples)[1]])
        for statistics in (bleu._extract_corpus_statistics(lines, [references]) for lines in (baseline, hypotheses))
    )
    low, high = np.percentile(second - first, (2.5, 97.5))
    return float(low), float(high)


def tokenizer_signature(tokenizer: str) -> str:
    """Return sacreBLEU's full name of a tokenizer, such as `13a` or `ja-mecab-0.996-IPA`.

    Raises:
        UserError: no such tokenizer, a package that it needs is missing, or its model cannot be downloaded.

    """
    return str(_bleu(tokenizer).tokenizer_signature)


def _require_equal_counts(texts: Mapping[str, Sequence[str]]) -> None:
    """Refuse texts of unequal or zero length, and anything that is not a flat sequence of sentences.

    sacreBLEU itself cuts to the shortest without a word, and scores nested references by the first sentence.
    """
    for name, lines in texts.items():
        if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
            raise UserError(f"{name}: expected one string for each sentence, found {_kind(lines)}")
    counts = {name: len(lines) for name, lines in texts.items()}
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    if len(set(counts.values())) > 1:
        raise UserError(f"the texts to score do not belong together: {listed}; translate this test set again")
    if 0 in counts.values():
        raise UserError(f"nothing to score: {listed}")


def _kind(lines: Sequence[Any]) -> str:
    if isinstance(lines, str):
        return "one string"
    odd = next(line for line in lines if not isinstance(line, str))
    return f"a sequence with {type(odd).__name__}"


def _bleu(tokenizer: str) -> BLEU:
    if tokenizer not in BLEU.TOKENIZERS:
        allowed = ", ".join(BLEU.TOKENIZERS)
        hint = nearest(tokenizer, BLEU.TOKENIZERS)
        raise UserError(f"evaluation.bleu_tokenizer: {tokenizer!r} is unknown{hint}; allowed: {allowed}")
    try:
        return BLEU(tokenize=tokenizer, force=True)
    except (RuntimeError, ImportError, OSError) as error:  # no package; no network for a tokenizer's model
        reason = " ".join(str(error).split())
        raise UserError(f"evaluation.bleu_tokenizer: {tokenizer!r} cannot be used here: {reason}") from None


def _on_subset(bleu: BLEU, hypotheses: Sequence[str], references: Sequence[str], subset: Sequence[int]) -> float | None:
    chosen = sorted(set(subset))
    if not chosen:
        return None
    kept = [references[index] for index in chosen]
    return float(bleu.corpus_score([hypotheses[index] for index in chosen], [kept]).score)


def _empties(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, int]:
    no_hypothesis = {index for index, line in enumerate(hypotheses) if not line.strip()}
    no_reference = {index for index, line in enumerate(references) if not line.strip()}
    return {
        "hypotheses": len(no_hypothesis),
        "references": len(no_reference),
        "both": len(no_hypothesis & no_reference),
    }


@contextlib.contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    before = os.environ.get(SEED_VARIABLE)
    os.environ[SEED_VARIABLE] = str(seed if seed > 0 else 12345 - seed)  # it takes 0 for "no seed"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED_VARIABLE]
        else:
            os.environ[SEED_VARIABLE] = before
