"""Score a file of translations against references, and against the translations of the baseline and of a partner."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from headcount.data.text import read_lines
from headcount.errors import UserError
from headcount.evaluate.score import score as compute
from headcount.files import atomic_write

log = logging.getLogger(__name__)


def score(
    hypotheses: Path,
    out: Path,
    *,
    references: Path,
    baseline: Path | None,
    partner: Path | None,
    near_duplicates: Path | None,
    tokenizer: str,
    samples: int,
) -> None:
    """Write the scores of `hypotheses` as JSON; `partner` is a file in a run folder, and `score.json` names that run.

    Raises:
        UserError: the files differ in their number of lines; the message names them with their counts.

    """
    texts = {path: read_lines(path) for path in (hypotheses, references, baseline, partner) if path is not None}
    if len({len(lines) for lines in texts.values()}) > 1:
        counts = ", ".join(f"{path} has {len(lines)} lines" for path, lines in texts.items())
        raise UserError(f"the files do not belong together: {counts}")
    duplicates = set(json.loads(near_duplicates.read_text(encoding="utf-8"))) if near_duplicates else set()
    scores = compute(
        texts[hypotheses],
        texts[references],
        baseline=texts[baseline] if baseline not in (None, hypotheses) else None,
        partner=texts[partner] if partner else None,
        subset=[line for line in range(len(texts[references])) if line not in duplicates],
        tokenizer=tokenizer,
        bootstrap_samples=samples,
        seed=1,
    )
    named = {"partner": partner.absolute().parent.name if partner else None}
    atomic_write(out, json.dumps({**scores, **named}, indent=2, ensure_ascii=False) + "\n")
    log.info(
        "BLEU %.2f [%.2f, %.2f], chrF %.2f: %s",
        scores["bleu"],
        scores["bleu_low"],
        scores["bleu_high"],
        scores["chrf"],
        out,
    )
