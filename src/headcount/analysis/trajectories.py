"""What the journals tell over the updates: metrics, gates, and the learned shape α of the normalisers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from headcount.analysis.study import FinishedRun
from headcount.heads import ATTENTION_TYPES

CURVES = ("run", "corpus", "update", "metric", "value")
"""Columns of `curves.csv`; an empty value is one that was not a number."""

GATES = ("run", "corpus", "update", "attention", "layer", "head", "open_probability")
"""Columns of `gates.csv`: P(g ≠ 0) of each gate of an L0 run."""

ALPHA = ("run", "corpus", "update", "attention", "layer", "head", "alpha")
"""Columns of `alpha.csv`: α = 1 + sigmoid(a) of each head during the training of an α-entmax run."""


def trajectories(runs: Sequence[FinishedRun]) -> dict[str, pd.DataFrame]:
    """Collect `curves.csv`, `gates.csv` and `alpha.csv` in one reading of the journals.

    Where several lines report on one update, as a validation does beside the training, the last word counts.
    """
    curves: list[tuple[Any, ...]] = []
    gates: list[tuple[Any, ...]] = []
    alpha: list[tuple[Any, ...]] = []
    for run in runs:
        for line in run.journal:
            place = (run.run, run.corpus, line["update"])
            curves += [(*place, metric, value) for metric, value in _numbers(line)]
            gates += [(*place, *row) for row in _per_head(line.get("gates", {}))]
            alpha += [(*place, *row) for row in _per_head(line.get("alpha", {}))]
    return {"curves": _table(curves, CURVES), "gates": _table(gates, GATES), "alpha": _table(alpha, ALPHA)}


def _table(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Build a table whose last column holds the values and whose others say what they are of."""
    table = pd.DataFrame(rows, columns=list(columns))
    return table.drop_duplicates(subset=list(columns[:-1]), keep="last", ignore_index=True)


def _numbers(line: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the single numbers of a journal line, the flagged non-finite ones included."""
    for name, value in line.items():
        if name == "update" or isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            yield name, float(value)
        elif value in ("NaN", "Infinity", "-Infinity"):
            yield name, math.nan if value == "NaN" else float(value)


def _per_head(values: dict[str, list[list[float]]]) -> Iterator[tuple[str, int, int, float]]:
    for kind in ATTENTION_TYPES:
        for layer, heads in enumerate(values.get(kind, [])):
            for head, value in enumerate(heads):
                yield kind, layer, head, value
