"""What was observed of the attention maps: one number a head and measure, and the histograms of density."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headcount.analysis.study import FinishedRun
from headcount.observe.observation import Observation

MEASURES = ("run", "method", "attention", "layer", "head", "measure", "value")
"""Columns of `observations.csv`; `head` is empty where the row speaks of a layer."""

DENSITY = ("run", "method", "attention", "layer", "head", "low", "high", "sentences")
"""Columns of `density.csv`: sentences whose attention by this head has a density in (low, high]."""

HISTOGRAM = "density_bin_"


def observed(runs: Sequence[FinishedRun]) -> dict[str, pd.DataFrame]:
    """Collect `observations.csv` and `density.csv` from the runs that were observed."""
    measures = [pd.DataFrame(columns=list(MEASURES))]
    histograms = [pd.DataFrame(columns=list(DENSITY))]
    for run in runs:
        path = run.folder / "observation.npz"
        if not path.is_file():
            continue
        table = Observation.load(path).to_table().assign(run=run.run, method=run.method)
        in_bin = table["measure"].str.startswith(HISTOGRAM)
        measures.append(table.loc[~in_bin, list(MEASURES)])
        histograms.append(_histogram(table.loc[in_bin]))
    return {"observations": _stack(measures), "density": _stack(histograms)}


def _histogram(rows: pd.DataFrame) -> pd.DataFrame:
    number = rows["measure"].str.removeprefix(HISTOGRAM).astype(int)
    width = 1 / number.max()
    low, high = (number - 1) * width, number * width
    return rows.assign(low=low, high=high, sentences=rows["value"].astype(int))[list(DENSITY)]


def _stack(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables[1:], ignore_index=True) if len(tables) > 1 else tables[0]
