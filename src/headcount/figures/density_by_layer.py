"""Density of the heads by layer, sparse variant and attention type (correia2019, figure 5).

The heads of a layer are sorted by density, and lines join equal ranks, so a line is not one head. Main corpus, first
seed. The paper's means of the layers are stretched over our layers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.groups import main_corpus, of_main, read
from headcount.figures.style import ATTENTION_LABELS, look, nothing_to_draw, paper_style, save, shades
from headcount.figures.variants import (
    IN_PAPER,
    PAPER_LINE,
    SOFTMAX,
    dense,
    drawn,
    first_seed,
    label,
    numbers,
    of_runs,
    panels,
    printed,
    remarks,
    variants,
)

ROW_INCHES = 1.45
AROUND_INCHES = 0.8


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `observations.csv` and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "observations"), numbers(tables, "figure5")), out)


def _figure(runs: pd.DataFrame, measures: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    models = dense(of_main(runs, runs))
    density = of_runs(measures[measures["measure"] == "density"], first_seed(models))
    shown = [method for method in variants(density) if method != SOFTMAX]
    if not shown:
        return nothing_to_draw("no run with sparse attention was observed")
    corpus = main_corpus(runs)
    names = [label(method) for method in shown]
    remark = drawn(runs, models)
    figure, grid = panels(names, row_inches=ROW_INCHES, around_inches=AROUND_INCHES, remark=remark)
    for line, method in zip(grid, shown, strict=True):
        line[0].set_ylabel("density")
        for axes, kind in zip(line, ATTENTION_LABELS, strict=True):
            rows = density[(density["method"] == method) & (density["attention"] == kind)]
            if not rows.empty:
                _panel(axes, ranked(rows), method)
                _paper(axes, f"{kind} {IN_PAPER.get(method)}", corpus, paper, ranked(rows))
    grid[0][0].set_ylim(0, 1.02)
    layers = int(density["layer"].max()) + 1
    grid[0][0].set_xticks(range(1, layers + 1))
    for axes in grid[-1]:
        axes.set_xlabel("layer")
    figure.legend(handles=_handles(shown[-1], not paper.empty), loc="outside lower center", ncols=3)
    return figure


def ranked(rows: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the densities as [layer, rank], the densest head of each layer first."""
    table = rows.pivot(index="layer", columns="head", values="value").to_numpy(dtype=float)
    return -np.sort(-table, axis=1)


def _panel(axes: Axes, density: npt.NDArray[np.float64], method: str) -> None:
    """Draw a line for each rank, from [layer, rank], and the mean of the layer."""
    axes.grid(axis="y")
    layers, heads = density.shape
    places = np.arange(1, layers + 1)
    for rank, line in enumerate(density.T):
        colour = shades(look(method).colour)(1 - 0.75 * rank / heads)
        axes.plot(places, line, color=colour, linewidth=0.8, marker=".", markersize=2.5)
    axes.plot(places, density.mean(axis=1), color="black", linewidth=1.8, marker=".", markersize=4)


def _paper(axes: Axes, series: str, corpus: str, paper: pd.DataFrame, density: npt.NDArray[np.float64]) -> None:
    """Write mean and spread over the heads beside the paper's, and draw its layers over ours."""
    mean, spread = (printed(paper, f"{series} {name}").get(corpus) for name in ("mean", "sd"))
    ours = f"mean {density.mean():.2f}, sd over the heads {density.std():.2f}"
    remarks(axes, ours, f"paper: mean {mean:.2f}, sd over the heads {spread:.2f}" if mean and spread else "")
    layers = list(printed(paper, f"{corpus} {series}").values())
    if layers:
        places = np.linspace(1, len(density), len(layers))
        axes.plot(places, layers, **PAPER_LINE)


def _handles(method: str, paper: bool) -> list[Line2D]:
    rank = f"heads of one rank, densest darkest ({label(method)})"
    handles = [
        Line2D([], [], color=look(method).colour, linewidth=0.8, marker=".", markersize=2.5, label=rank),
        Line2D([], [], color="black", linewidth=1.8, marker=".", label="mean of the layer"),
    ]
    if paper:
        handles.append(Line2D([], [], label="paper, mean of the layer (6 layers, en-de)", **PAPER_LINE))
    return handles
