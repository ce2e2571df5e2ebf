"""Which attention type loses its heads first when gates close in all of them (voita2019, figure 9).

Share of each type's heads that are still active against the share of all heads that are pruned: models of several sizes
fall on one scale, so that the paper's curves can stand beside ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import Group, gated_everywhere, paper_numbers, read
from headcount.figures.style import (
    ATTENTION_LABELS,
    COLUMN_INCHES,
    GREY,
    PAGE_INCHES,
    PAPER,
    Stroke,
    nothing_to_draw,
    panel_title,
    paper_style,
    save,
)

COLUMNS = 3
ROW_INCHES = 2.2
LEGEND_INCHES = 0.6

STYLES = dict(zip(ATTENTION_LABELS, (("#0072B2", "o"), ("#E69F00", "s"), ("#009E73", "^")), strict=True))
"""Colour and marker of each attention type."""

PAPER_STROKES: tuple[Stroke, ...] = ("-", (0, (2, 1)))
"""Of the paper's corpora, in their order."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and the paper's numbers, and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        paper = paper_numbers(tables, "voita2019", "figure9").astype({"x": float})
        save(_figure(read(tables, "runs"), paper), out)


def _figure(runs: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    shown = gated_everywhere(runs)
    if not shown:
        return nothing_to_draw("no model was pruned with gates in all attentions")
    panels = len(shown) + (not paper.empty)
    columns = min(COLUMNS, panels)
    rows = -(-panels // columns)
    width = max(COLUMN_INCHES, PAGE_INCHES * (columns + 0.3) / (COLUMNS + 0.3))
    figure = Figure(figsize=(width, ROW_INCHES * rows + LEGEND_INCHES), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axes in grid.flat[panels:]:
        axes.set_axis_off()
    for axes, (corpus, models) in zip(grid.flat, shown.items(), strict=False):
        total = _ours(axes, models)
        _frame(axes, total)
        panel_title(axes, corpus)
    if not paper.empty:
        axes = grid.flat[len(shown)]
        _frame(axes, _paper(axes, paper))
        panel_title(axes, "paper (6 layers)")
    for line in grid:
        line[0].set_ylabel("heads of the type still active")
        line[0].yaxis.set_major_formatter(PercentFormatter(1))
    figure.legend(handles=_handles(paper), loc="outside lower center", ncols=columns + 1)
    return figure


def _ours(axes: Axes, models: Sequence[Group]) -> int:
    """Draw the models of a corpus, the dense one included, and return how many heads that has."""
    most = {kind: int(max(group.rows[f"heads_{kind}"].max() for group in models)) for kind in STYLES}
    total = sum(most.values())
    for kind, (colour, marker) in STYLES.items():
        points = [(every, some) for g in models if (every := g.value("heads")) and (some := g.value(f"heads_{kind}"))]
        points.sort(key=lambda point: -point[0].centre)
        axes.errorbar(
            [1 - every.centre / total for every, _ in points],
            [some.centre / most[kind] for _, some in points],
            xerr=np.transpose([every.error[::-1] for every, _ in points]) / total,
            yerr=np.transpose([some.error for _, some in points]) / most[kind],
            color=colour,
            marker=marker,
            markeredgecolor="white",
            markeredgewidth=0.4,
            elinewidth=0.7,
            capsize=0,
        )
    return total


def _paper(axes: Axes, paper: pd.DataFrame) -> int:
    """Draw the paper's curves in grey and return how many heads its model has."""
    total = 0
    for corpus, stroke in zip(_corpora(paper), PAPER_STROKES, strict=False):
        curves = {kind: paper[paper["series"] == f"{corpus} {kind}"].sort_values("x") for kind in STYLES}
        total = int(sum(curve["y"].max() for curve in curves.values()))
        for kind, curve in curves.items():
            marker = STYLES[kind][1]
            shares = curve["y"] / curve["y"].max()
            axes.plot(curve["x"] / total, shares, color=PAPER, marker=marker, markersize=3, linestyle=stroke)
    return total


def _corpora(paper: pd.DataFrame) -> list[str]:
    """Return the paper's corpora; a series is named `<corpus> <attention type>`."""
    return list(dict.fromkeys(str(name).rpartition(" ")[0] for name in paper["series"]))


def _frame(axes: Axes, total: int) -> None:
    axes.plot([0, 1], [1, 0], color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    quarters = [share / 4 for share in range(5)]
    axes.set_xticks(quarters, [f"{share * total:.0f}\n{share:.0%}" for share in quarters])
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlabel(f"heads pruned (of {total})")
    axes.grid()


def _handles(paper: pd.DataFrame) -> list[Line2D]:
    handles = [
        Line2D([], [], color=colour, marker=marker, label=ATTENTION_LABELS[kind])
        for kind, (colour, marker) in STYLES.items()
    ]
    handles.append(Line2D([], [], color=GREY, linewidth=0.8, linestyle=":", label="all types alike"))
    for corpus, stroke in zip(_corpora(paper), PAPER_STROKES, strict=False):
        handles.append(Line2D([], [], color=PAPER, linestyle=stroke, label=f"paper, {corpus}"))
    return handles
