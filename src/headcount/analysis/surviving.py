"""One row for each original head of each run, kept or not."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headcount.analysis.study import FinishedRun, every_head
from headcount.heads import flat

COLUMNS = ("run", "corpus", "method", "attention", "layer", "head", "kept")
"""Columns of `heads.csv`; layers and heads are counted from 0, `kept` is 1 or 0."""


def heads_table(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `heads.csv`."""
    everything = {corpus: flat(heads) for corpus, heads in every_head(runs).items()}
    rows = []
    for run in runs:
        kept = set(flat(run.kept))
        rows += [(run.run, run.corpus, run.method, *head, int(head in kept)) for head in everything[run.corpus]]
    return pd.DataFrame(rows, columns=list(COLUMNS))
