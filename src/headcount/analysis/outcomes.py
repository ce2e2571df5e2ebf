"""One row for each run: what was done, how many heads are left, how good, large and fast the model is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.analysis.cost import costs
from headcount.analysis.speeds import timings
from headcount.analysis.study import FinishedRun, read_json
from headcount.evaluate.size import measure
from headcount.heads import ATTENTION_TYPES, count

COLUMNS = {
    "run": "str",
    "corpus": "str",
    "parent": "str",
    "parent_normaliser": "str",
    "method": "str",
    "variant": "str",
    "seed": "Int64",
    "scope": "str",
    "setting": "str",
    "penalty": "Float64",
    "target_heads": "Int64",
    "heads_encoder": "Int64",
    "heads_decoder_self": "Int64",
    "heads_decoder_cross": "Int64",
    "heads": "Int64",
    "bleu": "Float64",
    "bleu_low": "Float64",
    "bleu_high": "Float64",
    "bleu_delta": "Float64",
    "bleu_delta_low": "Float64",
    "bleu_delta_high": "Float64",
    "p_value": "Float64",
    "partner": "str",
    "partner_delta": "Float64",
    "partner_low": "Float64",
    "partner_high": "Float64",
    "partner_p": "Float64",
    "chrf": "Float64",
    "bleu_without_near_duplicates": "Float64",
    "parameters": "Int64",
    "parameters_attention": "Int64",
    "file_bytes": "Int64",
    "decode_seconds_per_sentence": "Float64",
    "speedup": "Float64",
    "speedup_vs_masked": "Float64",
    "max_logit_difference": "Float64",
    "identical_outputs": "boolean",
    "train_seconds": "Float64",
    "train_seconds_total": "Float64",
    "updates": "Int64",
    "updates_rounds": "Int64",
    "updates_total": "Int64",
    "seconds_per_update": "Float64",
    "tokens": "Int64",
    "tokens_per_second": "Float64",
    "suspect": "boolean",
}
"""Columns of `runs.csv`; what a run does not have is empty."""

SCORES = (
    "bleu",
    "bleu_low",
    "bleu_high",
    "bleu_delta",
    "bleu_delta_low",
    "bleu_delta_high",
    "p_value",
    "partner",
    "partner_delta",
    "partner_low",
    "partner_high",
    "partner_p",
    "chrf",
    "bleu_without_near_duplicates",
    "suspect",
)
LOOKUP = "lookup"
"""Run id and method of the row that holds the nearest-neighbour lookup baseline."""


def runs_table(study: Path, runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `runs.csv`: a row for each run, and one a corpus for its lookup baseline when it was scored.

    `parent` is the run whose model or heads the run started from, `parent_normaliser` names the
    normaliser of the dense model, `partner` the run that it is compared with beside the baseline
    (`headcount.partners`). `speedup` is the decoding time of the seed's baseline divided by the run's;
    `train_seconds`, `updates` and `tokens` are those of the run alone; what ends in `_total` counts its ancestors too
    (`analysis.cost`). All seconds of training are those of `FinishedRun.clock`.
    """
    speed = _speed(study)
    cost = costs(runs)
    rows = [_row(run, speed.get(run.run, {}), cost[run.run]) for run in runs]
    corpora = list(dict.fromkeys(run.corpus for run in runs))
    for corpus in corpora:
        lookup = read_json(study / "data" / corpus / "lookup.score.json")
        if lookup is not None:
            name = LOOKUP if corpus == corpora[0] else f"{corpus}-{LOOKUP}"
            rows.append(
                {"run": name, "corpus": corpus, "method": LOOKUP, "setting": "nearest sentence", **_scores(lookup)}
            )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _row(run: FinishedRun, speed: dict[str, Any], cost: dict[str, Any]) -> dict[str, Any]:
    heads = count(run.kept)
    score = read_json(run.folder / "score.json") or {}
    size = measure(run.folder) if run.model is not None else {}
    seconds, tokens = run.seconds, run.record.get("tokens")
    return {
        "run": run.run,
        "corpus": run.corpus,
        "parent": next(iter(run.settings["parents"]), ""),
        "parent_normaliser": run.settings["normaliser"],
        "method": run.method,
        "variant": run.variant,
        "seed": run.settings["seed"],
        "scope": run.settings.get("scope", ""),
        "setting": run.settings.get("setting", ""),
        "penalty": run.penalty,
        "target_heads": run.target_heads,
        **{f"heads_{kind}": heads[kind] for kind in ATTENTION_TYPES},
        "heads": sum(heads.values()),
        **_scores(score),
        "parameters": size.get("parameters"),
        "parameters_attention": size.get("parameters_attention"),
        "file_bytes": size.get("file_bytes"),
        "decode_seconds_per_sentence": speed.get("seconds_per_sentence"),
        "speedup": speed.get("speedup_vs_dense"),
        **{name: speed.get(name) for name in ("speedup_vs_masked", "max_logit_difference", "identical_outputs")},
        "train_seconds": seconds,
        **cost,
        "tokens": tokens,
        "tokens_per_second": tokens / seconds if tokens and seconds else None,
    }


def _scores(score: dict[str, Any]) -> dict[str, Any]:
    return {name: score.get(name) for name in SCORES}


def _speed(study: Path) -> dict[str, dict[str, Any]]:
    """Return the timed runs of all seeds by run id, each with the first beam and batch size."""
    first: dict[str, dict[str, Any]] = {}
    for row in timings(study):
        first.setdefault(row["run"], row)
    return first
