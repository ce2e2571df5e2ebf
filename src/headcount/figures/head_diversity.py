"""How differently the heads of a layer attend, by attention variant, corpus and attention type (correia2019, figure 6).

Jensen-Shannon divergence between the heads of a layer over the log of their number: 0 where all attend alike, 1 where
each looks at another place. Lines: mean over the seeds with a band of ± one standard deviation. On the right of each
panel stands the mean over the layers, ours and in grey that of the paper's model of the same language pair.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from headcount.figures.groups import corpora, read
from headcount.figures.style import ATTENTION_LABELS, EDGE, PALE, PAPER, look, nothing_to_draw, paper_style, save
from headcount.figures.variants import (
    IN_PAPER,
    SOFTMAX,
    dense,
    label,
    numbers,
    of_runs,
    panels,
    printed,
    variants,
)

ROW_INCHES = 1.3
AROUND_INCHES = 0.85
MEAN = 0.9
"""Where our means stand, in layers to the right of the last."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `observations.csv` and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "observations"), numbers(tables, "figure6")), out)


def _figure(runs: pd.DataFrame, measures: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    diversity = of_runs(measures[measures["measure"] == "diversity"], dense(runs))
    shown = [
        corpus for corpus in corpora(runs) if set(diversity.loc[diversity["corpus"] == corpus, "method"]) - {SOFTMAX}
    ]
    if not shown:
        return nothing_to_draw("no run with sparse attention was observed")
    diversity = diversity[diversity["corpus"].isin(shown)]
    layers = int(diversity["layer"].max()) + 1
    mean, paper_mean = layers + MEAN, layers + MEAN + max(0.7, 0.22 * layers)  # room for the words below
    right = paper_mean + 0.4 * (paper_mean - mean)
    names = shown if len(corpora(runs)) > 1 else [""]
    figure, grid = panels(names, row_inches=ROW_INCHES, around_inches=AROUND_INCHES, lines=0)
    known = False
    for line, corpus in zip(grid, shown, strict=True):
        line[0].set_ylabel("divergence")
        for axes, kind in zip(line, ATTENTION_LABELS, strict=True):
            axes.grid(axis="y")
            axes.axvspan(layers + 0.5, right, color=PALE, alpha=0.6, linewidth=0)
            rows = diversity[(diversity["corpus"] == corpus) & (diversity["attention"] == kind)]
            for method in variants(rows):
                _curve(axes, rows[rows["method"] == method], method, mean)
                theirs = printed(paper, f"{kind} {IN_PAPER.get(method)} mean").get(corpus)
                if theirs is not None:
                    axes.plot(paper_mean, theirs, color=PAPER, marker=look(method).marker, **EDGE)
                    known = True
    axes = grid[0][0]
    axes.set_xlim(0.7, right)
    columns = {mean: "mean", **({paper_mean: "paper"} if known else {})}
    axes.set_xticks([*range(1, layers + 1), *columns], [*map(str, range(1, layers + 1)), *columns.values()])
    axes.yaxis.set_major_locator(MaxNLocator(5))
    for axes in grid[-1]:
        axes.set_xlabel("layer")
    figure.legend(handles=_handles(variants(diversity), known), loc="outside lower center", ncols=5)
    return figure


def _curve(axes: Axes, rows: pd.DataFrame, method: str, place: float) -> None:
    """Draw a variant: its layers, and at `place` the mean over them ± standard deviation over the seeds."""
    style = look(method)
    seeds = rows.pivot(index="layer", columns="run", values="value")
    mean, spread = seeds.mean(axis=1), seeds.std(axis=1, ddof=1).fillna(0.0)
    axes.fill_between(seeds.index + 1, mean - spread, mean + spread, color=style.colour, alpha=0.18, linewidth=0)
    axes.plot(seeds.index + 1, mean, color=style.colour, marker=style.marker, **EDGE)
    overall = seeds.mean()
    error = overall.std(ddof=1) if len(overall) > 1 else np.nan
    axes.errorbar(place, overall.mean(), yerr=error, color=style.colour, marker=style.marker, elinewidth=0.8, **EDGE)


def _handles(methods: list[str], known: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], color=look(method).colour, marker=look(method).marker, label=label(method)) for method in methods
    ]
    if known:
        text = "paper, mean over its 6 layers"
        handles.append(Line2D([], [], color=PAPER, marker="o", linestyle="none", label=text))
    return handles
