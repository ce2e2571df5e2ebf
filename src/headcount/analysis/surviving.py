"""One row for each original head of each run, kept or not; a smaller dense model has fewer of them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headcount.analysis.study import SMALLER, FinishedRun, every_head, unpruned
from headcount.heads import flat

COLUMNS = ("run", "corpus", "method", "attention", "layer", "head", "kept")
"""Columns of `heads.csv`; layers and heads are counted from 0, `kept` is 1 or 0."""


def heads_table(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `heads.csv`."""
    everything = every_head(runs)
    rows = []
    for run in runs:
        kept = set(flat(run.kept))
        original = unpruned(run.model) if run.method == SMALLER and run.model else everything[run.corpus]
        rows += [(run.run, run.corpus, run.method, *head, int(head in kept)) for head in flat(original)]
    return pd.DataFrame(rows, columns=list(COLUMNS))
