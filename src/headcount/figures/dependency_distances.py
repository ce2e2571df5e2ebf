"""Where the dependent stands, counted from its head word: what a head reaches by looking at one fixed offset.

voita2019, figure 3: one row for each corpus with parses, one panel for each relation, offsets in words. The tallest bar
is the relation's positional baseline; the grey lines are the paper's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import paper_numbers, read
from headcount.figures.style import (
    GREY,
    MINUS,
    PAGE_INCHES,
    PAPER,
    ROLES,
    Stroke,
    nothing_to_draw,
    paper_style,
    role_words,
    save,
)

ROW_INCHES = 1.3
FRAME_INCHES = 0.55

PAPER_LINE: dict[str, Any] = {"color": PAPER, "linewidth": 0.9, "zorder": 1.5}
STROKES: tuple[Stroke, ...] = ((0, (4, 2)), (0, (1, 1.5)))

FARTHEST = 8
"""Words; the outermost bars sum up what is farther away."""


def draw(tables: Path, out: Path) -> None:
    """Read `relations.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "relations"), paper_numbers(tables, "voita2019", "figure3")), out)


def _figure(relations: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    corpora = list(relations["corpus"].unique())
    if not corpora:
        return nothing_to_draw("no corpus of this study has parses")
    names = list(relations["relation"].unique())
    strokes = dict(zip(paper["series"].unique(), STROKES, strict=False))
    figure = Figure(figsize=(PAGE_INCHES, ROW_INCHES * len(corpora) + FRAME_INCHES), layout="constrained")
    grid = figure.subplots(len(corpora), len(names), sharex=True, sharey=True, squeeze=False)
    for row, (line, corpus) in enumerate(zip(grid, corpora, strict=True)):
        for axes, name in zip(line, names, strict=True):
            counts = relations[(relations["corpus"] == corpus) & (relations["relation"] == name)]
            _panel(axes, counts.set_index("offset")["count"].sort_index())
            for _, number in paper[(paper["x"] == name) & paper["series"].isin(strokes)].iterrows():
                axes.axhline(number["y"] / 100, linestyle=strokes[number["series"]], **PAPER_LINE)
            if row == 0:
                axes.set_title(f"{name} ({role_words(f'{name}:to_dependent')})", loc="left", weight="bold", pad=11)
            if row == len(grid) - 1:
                axes.set_xlabel("offset from head (words)")
        line[0].set_ylabel(f"{corpus}\nshare" if len(corpora) > 1 else "share of dependents")
    handles = [
        Line2D([], [], linestyle=stroke, label=f"paper: {series}", **PAPER_LINE) for series, stroke in strokes.items()
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower right", ncols=len(handles))
    return figure


def _panel(axes: Axes, counts: pd.Series[int]) -> None:
    """Draw the shares of the offsets as bars and name the largest, before the far ones are summed up."""
    total = counts.sum()
    if total:
        mode = counts.idxmax()
        shares = (counts / total).groupby(counts.index.to_series().clip(-FARTHEST, FARTHEST)).sum()
        colours = [ROLES["syntactic"] if offset == mode else "#B9B9B9" for offset in shares.index]
        axes.bar(shares.index, shares, width=0.85, color=colours)
        text = f"{mode:+d}: {counts.max() / total:.0%}".replace("-", MINUS)
        label = axes.annotate(
            text,
            (mode, counts.max() / total),
            (0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=6.5,
            color="#8A5E00",
            weight="bold",
        )
        label.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
    axes.annotate(
        f"{total} cases",
        (1, 1),
        (0, 2),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        fontsize=6,
        color=GREY,
    )
    axes.axvline(0, color=GREY, linewidth=0.5, linestyle=":")
    axes.set_xlim(-FARTHEST - 0.7, FARTHEST + 0.7)
    ends = {-FARTHEST: f"≤ {MINUS}{FARTHEST}", FARTHEST: f"≥ {FARTHEST}"}
    ticks = [-FARTHEST, -4, -1, 1, 4, FARTHEST]
    axes.set_xticks(ticks, [ends.get(tick, f"{tick:+d}".replace("-", MINUS)) for tick in ticks])
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.margins(y=0.15)
    axes.grid(axis="y")
