"""α of every head over the updates of the training, by attention type (correia2019, figure 2).

One α-entmax run: main corpus, first seed. Bold: the mean of a type's heads; three heads are named in each panel. The
heads that the paper shows stand behind in grey, each by its start, its lowest point and its end, on the same share of
the training.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from headcount.figures.groups import of_main, read
from headcount.figures.style import (
    ATTENTION_LABELS,
    CORPUS_COLOURS,
    GREY,
    nothing_to_draw,
    paper_style,
    save,
    shades,
)
from headcount.figures.variants import (
    LEARNED,
    PAPER_LINE,
    dense,
    drawn,
    first_seed,
    numbers,
    of_runs,
    panels,
    printed,
    remarks,
)

HEIGHT_INCHES = 1.75
AROUND_INCHES = 1.15
ALPHA_RANGE = (1.0, 2.0)
PAPER_UPDATES = 12600
"""Length of the paper's curves."""

NEXT = 0.055
"""Least distance between names at the right edge, in α."""

NAMED = ("largest change", "lowest at the end", "highest at the end")


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `alpha.csv` and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "alpha"), numbers(tables, "figure2")), out)


def _figure(runs: pd.DataFrame, alpha: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    models = dense(of_main(runs, runs))
    models = models[models["run"].isin(alpha["run"]) & (models["method"] == LEARNED)]
    if models.empty:
        return nothing_to_draw("no run learned its α")
    table = of_runs(alpha, first_seed(models))
    remark = drawn(runs, models)
    figure, grid = panels([""], row_inches=HEIGHT_INCHES, around_inches=AROUND_INCHES, remark=remark)
    for axes, kind in zip(grid[0], ATTENTION_LABELS, strict=True):
        heads = table[table["attention"] == kind].pivot(index="update", columns=["layer", "head"], values="alpha")
        if not heads.empty:
            _paper(axes, kind, paper, heads.index.max())
            _panel(axes, heads, int(table["layer"].max()) + 1)
        axes.set_ylim(*ALPHA_RANGE)
        axes.grid(axis="y")
        axes.set_xlabel("update")
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    grid[0][0].set_ylabel("α (1: softmax, 2: sparsemax)")
    figure.legend(handles=_handles(not paper.empty), loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Axes, heads: pd.DataFrame, layers: int) -> None:
    """Draw the heads, a column each of `heads`, and name some."""
    start, end = heads.iloc[0], heads.iloc[-1]
    for layer, (_, curve) in zip(heads.columns.get_level_values("layer"), heads.items(), strict=True):
        axes.plot(curve, color=shades(GREY)((layer + 1.5) / (layers + 0.5)), linewidth=0.5)
    axes.plot(heads.mean(axis=1), color="black", linewidth=2)
    found = named(heads)
    heights = _apart([end[head] for head in found.values()])
    for (name, (layer, head)), height in zip(found.items(), heights, strict=True):
        colour = CORPUS_COLOURS[NAMED.index(name)]
        axes.plot(heads[layer, head], color=colour, linewidth=1.1)
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{layer + 1}.{head + 1}", (1, height), (2, 0), color=colour, fontsize=6, **place)
    agreement = start.rank().corr(end.rank())
    remarks(axes, f"mean {start.mean():.2f} → {end.mean():.2f}", f"rank correlation of start and end: {agreement:.2f}")


def named(heads: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return the heads (layer, head) that are named, each once, by the first reason for it in `NAMED`."""
    start, end = (heads.iloc[row].to_numpy(dtype=float) for row in (0, -1))
    found: dict[str, tuple[int, int]] = {}
    for name, place in zip(NAMED, (np.abs(end - start).argmax(), end.argmin(), end.argmax()), strict=True):
        layer, head = heads.columns[place]
        if (layer, head) not in found.values():
            found[name] = (layer, head)
    return found


def _apart(heights: list[float]) -> list[float]:
    """Move heights up, from the lowest on, until no two are closer than `NEXT`."""
    moved = list(heights)
    order = np.argsort(heights)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + NEXT)
    return moved


def _paper(axes: Axes, kind: str, paper: pd.DataFrame, updates: float) -> None:
    """Draw the paper's heads of an attention type; x is the head's name, which begins with the type."""
    start, lowest, end, when = (printed(paper, series) for series in ("start", "lowest", "end", "update of the lowest"))
    for head in start:
        if head.partition(" ")[0] == kind:
            places = (0, when[head] / PAPER_UPDATES * updates, updates)
            heights = (start[head], lowest[head], end[head])
            axes.plot(places, heights, **PAPER_LINE)


def _handles(paper: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], color=GREY, linewidth=0.5, label="a head, darker in higher layers"),
        Line2D([], [], color="black", linewidth=2, label="mean of the heads"),
    ]
    handles += [
        Line2D([], [], color=colour, label=f"{name} (layer.head)")
        for name, colour in zip(NAMED, CORPUS_COLOURS, strict=False)
    ]
    if paper:
        text = "paper, five heads (6 layers, en-de): start, lowest, end"
        handles.append(Line2D([], [], label=text, **PAPER_LINE))
    return handles
