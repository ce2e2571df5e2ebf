"""How dense the heads' attention is in single sentences, by sparse variant and attention type (correia2019, figure 4).

Density is the share of the weights above 0; each pair of a head and a validation sentence counts once, seeds are
pooled, main corpus. Softmax is dense by nature and only mentioned: its one bar would flatten all others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headcount.figures.groups import main_corpus, note, of_main, read
from headcount.figures.style import ATTENTION_LABELS, PAPER, look, nothing_to_draw, paper_style, save
from headcount.figures.variants import (
    IN_PAPER,
    SOFTMAX,
    dense,
    label,
    numbers,
    of_runs,
    panels,
    printed,
    remarks,
    variants,
)

ROW_INCHES = 1.4
AROUND_INCHES = 0.75
SPARSE = 0.2
"""Density below which attention is called sparse here: an edge of the paper's bins."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `density.csv` and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "density"), numbers(tables, "figure4")), out)


def _figure(runs: pd.DataFrame, density: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    density = of_runs(density, dense(of_main(runs, runs)))
    shown = [method for method in variants(density) if method != SOFTMAX]
    if not shown:
        return nothing_to_draw("no run with sparse attention was observed")
    softmax = density[density["method"] == SOFTMAX]
    last = "" if softmax.empty else f"softmax: {shares(softmax)['share'].iloc[-1]:.1%} of the pairs in the last bin"
    remark = "; ".join(filter(None, (note(runs, main_corpus(runs)).removeprefix(", "), last)))
    names = [label(method) for method in shown]
    figure, grid = panels(names, row_inches=ROW_INCHES, around_inches=AROUND_INCHES, remark=remark)
    for line, method in zip(grid, shown, strict=True):
        line[0].set_ylabel("head–sentence pairs")
        for axes, kind in zip(line, ATTENTION_LABELS, strict=True):
            rows = density[(density["method"] == method) & (density["attention"] == kind)]
            if not rows.empty:
                _panel(axes, shares(rows), method, printed(paper, f"{kind} {IN_PAPER.get(method)}"))
    grid[0][0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    grid[0][0].yaxis.set_major_locator(MaxNLocator(4))
    grid[0][0].set_xlim(0, 1)
    for axes in grid[-1]:
        axes.set_xlabel("density of the attention")
    if not paper.empty:
        tick = Line2D([], [], color=PAPER, linewidth=1.6, label="paper, last bin (6 layers, en-de)")
        figure.legend(handles=[tick], loc="outside lower center")
    return figure


def shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `low`, `high` and `share` of each bin over all heads."""
    counts = rows.groupby(["low", "high"])["sentences"].sum().reset_index()
    return counts.assign(share=counts["sentences"] / counts["sentences"].sum())


def _panel(axes: Axes, bins: pd.DataFrame, method: str, paper: dict[str, float]) -> None:
    axes.grid(axis="y")
    edges = np.append(bins["low"], bins["high"].iloc[-1])
    axes.stairs(bins["share"], edges, fill=True, color=look(method).colour, alpha=0.8)
    sparse, last = bins.loc[bins["high"] < SPARSE + 1e-6, "share"].sum(), bins["share"].iloc[-1]
    text = f"{{}}below {SPARSE:g}: {{:.0%}}, last bin: {{:.0%}}"
    if not paper:
        remarks(axes, text.format("", sparse, last))
        return
    axes.plot(edges[-2:], [paper["last bin"]] * 2, color=PAPER, linewidth=1.6, solid_capstyle="butt")
    remarks(axes, text.format("", sparse, last), text.format("paper, ", paper["below 0.2"], paper["last bin"]))
