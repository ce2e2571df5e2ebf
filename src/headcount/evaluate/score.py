"""Scores of a translated test set: BLEU with its interval, chrF, and paired tests against two other systems.

Everything is computed by sacreBLEU on detokenised raw text; its signatures are stored beside the scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from headcount.errors import UserError
from headcount.evaluate.bootstrap import Resampled, compare, resample, signature
from headcount.registry import nearest

AGAINST_BASELINE = ("bleu_delta", "bleu_delta_low", "bleu_delta_high", "p_value")
AGAINST_PARTNER = ("partner_delta", "partner_low", "partner_high", "partner_p")
"""What the paired bootstrap tells of the two systems that a run is compared with."""


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    baseline: Sequence[str] | None,
    partner: Sequence[str] | None,
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
        partner: translations by another system to compare with; None where there is none.
        subset: indices of the sentences that have no near-duplicate in the training part.
        tokenizer: sacreBLEU's tokenizer of the BLEU scores.
        bootstrap_samples: resamples of the interval and of the paired tests.
        seed: of the resampling; equal seeds draw equal resamples for every system.

    Returns:
        JSON-able values. `bleu_low` and `bleu_high` are the 95 % bootstrap interval, `bleu_delta_low` and
        `bleu_delta_high` that of the difference to the baseline on equal resamples, `p_value` is two-sided;
        `partner_delta`, `partner_low`, `partner_high` and `partner_p` say the same of the partner. `suspect` marks an
        output without a single word. What cannot be computed is None.

    Raises:
        UserError: the numbers of sentences differ, an index is out of range, or the tokenizer is unusable.

    """
    others = {"baseline": baseline, "partner": partner}
    rivals = {name: lines for name, lines in others.items() if lines is not None}
    named = {f"translations of the {name}": lines for name, lines in rivals.items()}
    _require_equal_counts({"hypotheses": hypotheses, "references": references, **named})
    outside = [index for index in subset if not 0 <= index < len(references)]
    if outside:
        raise UserError(f"subset: index {outside[0]} is out of range; allowed: 0 to {len(references) - 1}")

    bleu = _bleu(tokenizer, references)
    drawn: dict[str, int] = {"samples": bootstrap_samples, "seed": seed}
    own = resample(bleu, hypotheses, **drawn)
    resampled = {name: resample(bleu, lines, **drawn) for name, lines in rivals.items()}
    low, high = own.interval
    chrf = CHRF()
    return {
        "sentences": len(hypotheses),
        "bleu": own.bleu,
        "bleu_low": low,
        "bleu_high": high,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        **_difference(AGAINST_BASELINE, own, resampled.get("baseline")),
        **_difference(AGAINST_PARTNER, own, resampled.get("partner")),
        "bleu_without_near_duplicates": _on_subset(bleu, own, subset),
        "sentences_without_near_duplicates": len(set(subset)),
        "signatures": {"bleu": signature(bleu, **drawn), "chrf": str(chrf.get_signature())},
        "empty": _empties(hypotheses, references),
        "suspect": not any(line.strip() for line in hypotheses),
    }


def _difference(names: Sequence[str], own: Resampled, other: Resampled | None) -> dict[str, float | None]:
    return dict(zip(names, compare(own, other), strict=True)) if other else dict.fromkeys(names)


def tokenizer_signature(tokenizer: str) -> str:
    """Return sacreBLEU's full name of a tokenizer, such as `13a` or `ja-mecab-0.996-IPA`.

    Raises:
        UserError: no such tokenizer, a package that it needs is missing, or its model cannot be downloaded.

    """
    return str(_bleu(tokenizer, None).tokenizer_signature)


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


def _bleu(tokenizer: str, references: Sequence[str] | None) -> BLEU:
    if tokenizer not in BLEU.TOKENIZERS:
        allowed = ", ".join(BLEU.TOKENIZERS)
        hint = nearest(tokenizer, BLEU.TOKENIZERS)
        raise UserError(f"evaluation.bleu_tokenizer: {tokenizer!r} is unknown{hint}; allowed: {allowed}")
    try:
        return BLEU(tokenize=tokenizer, force=True, references=None if references is None else [references])
    except (RuntimeError, ImportError, OSError) as error:  # no package; no network for a tokenizer's model
        reason = " ".join(str(error).split())
        raise UserError(f"evaluation.bleu_tokenizer: {tokenizer!r} cannot be used here: {reason}") from None


def _on_subset(bleu: BLEU, own: Resampled, subset: Sequence[int]) -> float | None:
    chosen = set(subset)
    return float(bleu._aggregate_and_compute([own.counts[index] for index in chosen]).score) if chosen else None


def _empties(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, int]:
    no_hypothesis = {index for index, line in enumerate(hypotheses) if not line.strip()}
    no_reference = {index for index, line in enumerate(references) if not line.strip()}
    return {
        "hypotheses": len(no_hypothesis),
        "references": len(no_reference),
        "both": len(no_hypothesis & no_reference),
    }
