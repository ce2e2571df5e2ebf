"""What each lottery round decided: one row for each head that the round's model had, with its score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from headcount.analysis.study import FinishedRun, read_json
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Head

COLUMNS = (
    *("run", "corpus", "seed", "variant", "parent_normaliser", "round"),
    *("attention", "layer", "head", "score", "removed"),
)
"""Columns of `rounds.csv`; a higher score is kept, `removed` is 1 for a head that goes in this round."""

STAGE = "lottery_round"


def rounds_table(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `rounds.csv`.

    Raises:
        UserError: a round has not one score for each head.

    """
    rows: list[tuple[Any, ...]] = []
    for run in runs:
        if run.stage == STAGE:
            number = run.settings["lottery"]["round"]
            place = (run.run, run.corpus, run.settings["seed"], run.variant, run.settings["normaliser"], number)
            rows += [(*place, *head, score, int(removed)) for head, score, removed in _decided(run)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _decided(run: FinishedRun) -> Iterator[tuple[Head, float | None, bool]]:
    """Yield each head that the round's model had, in the order of its ids; a type that was not ranked has no score."""
    path = run.folder / "heads.json"
    found = read_json(path) or {}
    gone = {(str(kind), int(layer), int(head)) for kind, layer, head in found["removed"]}
    for kind in ATTENTION_TYPES:
        for layer, kept in enumerate(run.kept[kind]):
            heads = sorted([*kept, *(head for k, at, head in gone if (k, at) == (kind, layer))])
            scores = found["scores"][kind][layer] if kind in found["scores"] else [None] * len(heads)
            if len(scores) != len(heads):
                place = f"{kind} layer {layer}"
                raise UserError(f"{path}: {len(scores)} scores for the {len(heads)} heads of {place}; run it again")
            for head, score in zip(heads, scores, strict=True):
                yield (kind, layer, head), score, (kind, layer, head) in gone
