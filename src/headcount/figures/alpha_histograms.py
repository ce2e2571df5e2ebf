"""The learned α of the heads at the end of the training, by corpus and attention type (correia2019, figure 3).

Seeds are pooled; α is that of the averaged weights. Bins are those of the paper, whose histogram of the same language
pair is drawn as a grey outline.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headcount.figures.groups import corpora, read
from headcount.figures.style import ATTENTION_LABELS, PAPER, look, nothing_to_draw, paper_style, save
from headcount.figures.variants import LEARNED, dense, numbers, of_runs, panels, printed, remarks

ROW_INCHES = 1.25
AROUND_INCHES = 0.75
ALPHA_RANGE = (1.0, 2.0)
BINS = 15


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `observations.csv` and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "observations"), numbers(tables, "figure3")), out)


def _figure(runs: pd.DataFrame, measures: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    models = dense(runs)
    final = of_runs(measures[measures["measure"] == "alpha"], models[models["method"] == LEARNED])
    shown = [corpus for corpus in corpora(runs) if corpus in set(final["corpus"])]
    if not shown:
        return nothing_to_draw("no run learned its α")
    names = shown if len(corpora(runs)) > 1 else [""]
    figure, grid = panels(names, row_inches=ROW_INCHES, around_inches=AROUND_INCHES)
    for line, corpus in zip(grid, shown, strict=True):
        line[0].set_ylabel("heads")
        for axes, kind in zip(line, ATTENTION_LABELS, strict=True):
            rows = final[(final["corpus"] == corpus) & (final["attention"] == kind)]
            _panel(axes, rows["value"].to_numpy(dtype=float), kind, corpus, paper)
    for axes in grid[-1]:
        axes.set_xlabel("learned α (1: softmax, 2: sparsemax)")
    grid[0][0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    grid[0][0].yaxis.set_major_locator(MaxNLocator(4))
    grid[0][0].set_xlim(*ALPHA_RANGE)
    figure.legend(handles=_handles(paper, shown), loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Axes, values: np.ndarray, kind: str, corpus: str, paper: pd.DataFrame) -> None:
    """Draw the share of the heads in each bin, and the same of the paper where it has the corpus's language pair."""
    axes.grid(axis="y")
    counts, edges = np.histogram(values, bins=BINS, range=ALPHA_RANGE)
    axes.stairs(counts / max(1, len(values)), edges, fill=True, color=look(LEARNED).colour, alpha=0.8)
    ours = f"{len(values)} heads: mean {values.mean():.2f}, sd {values.std():.2f}" if len(values) else "no head"
    if len(values):
        axes.axvline(values.mean(), color="black", linewidth=0.9, linestyle="--")
    theirs = list(printed(paper, f"{corpus} {kind}").values())
    if not theirs:
        remarks(axes, ours)
        return
    axes.stairs(np.array(theirs) / sum(theirs), edges, color=PAPER, linewidth=1.1)
    mean, spread = (printed(paper, f"{kind} {name}")[corpus] for name in ("mean", "sd"))
    remarks(axes, ours, f"paper, {sum(theirs):.0f} heads: mean {mean:.2f}, sd {spread:.2f}")


def _handles(paper: pd.DataFrame, shown: list[str]) -> list[Artist]:
    handles: list[Artist] = [
        Patch(color=look(LEARNED).colour, alpha=0.8, label=look(LEARNED).label),
        Line2D([], [], color="black", linewidth=0.9, linestyle="--", label="its mean"),
    ]
    if any(printed(paper, f"{corpus} {kind}") for corpus in shown for kind in ATTENTION_LABELS):
        handles.append(Line2D([], [], color=PAPER, label="paper, same languages (6 layers, other data)"))
    return handles
