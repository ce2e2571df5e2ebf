"""How much the density of a head varies between sentences, against its α (correia2019, figure 10).

The paper shows a head with α = 1.33 that is dense in one sentence and sparse in another. Here every head of every seed
is a point, main corpus: the standard deviation of the density over the validation sentences. A head whose sparsity
followed from α alone would stand at 0. Heads of a fixed α are spread to both sides of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.groups import main_corpus, note, of_main, read
from headcount.figures.style import ATTENTION_LABELS, PAPER, look, nothing_to_draw, paper_style, save
from headcount.figures.variants import (
    dense,
    label,
    numbers,
    of_runs,
    panels,
    printed,
    remarks,
    variants,
    with_alpha,
)

HEIGHT_INCHES = 1.8
AROUND_INCHES = 0.95
FIXED_ALPHA = {"entmax15": 1.5, "sparsemax": 2.0}
"""α of the variants that have one by their name; the others' stands in the table, or they are left out."""

HALF_WIDTH = 0.03
"""To how far the heads of a fixed α are spread."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs`, `links` and `observations` and the paper's numbers, and write `out` (SVG) and the same as PDF."""
    with paper_style():
        parts = (read(tables, name) for name in ("runs", "links", "observations"))
        save(_figure(*parts, paper=printed(numbers(tables, "figure10"), "alpha")), out)


def _figure(runs: pd.DataFrame, links: pd.DataFrame, measures: pd.DataFrame, *, paper: dict[str, float]) -> Figure:
    links = of_runs(links[links["measure"] == "density_sd"], dense(of_main(runs, runs)))
    heads = with_alpha(links, measures)
    heads = heads.assign(alpha=heads["alpha"].fillna(heads["method"].map(FIXED_ALPHA).astype(float))).dropna(
        subset="alpha"
    )
    if heads.empty:
        return nothing_to_draw("no run with sparse attention was observed")
    methods = variants(heads)
    remark = note(runs, main_corpus(runs)).removeprefix(", ")
    figure, grid = panels(
        [""], row_inches=HEIGHT_INCHES, around_inches=AROUND_INCHES, remark=remark, lines=len(methods)
    )
    for axes, kind in zip(grid[0], ATTENTION_LABELS, strict=True):
        rows = heads[heads["attention"] == kind]
        axes.grid(axis="y")
        axes.set_xlabel("α")
        for theirs in paper.values():
            axes.axvline(theirs, color=PAPER, linewidth=1, linestyle=(0, (3, 2)), zorder=1)
        remarks(axes, *(_variant(axes, rows[rows["method"] == method], method) for method in methods))
    grid[0][0].set_ylabel("sd of the density over sentences")
    grid[0][0].set_xlim(0.98, 2.04)
    grid[0][0].set_ylim(bottom=0)
    figure.legend(handles=_handles(methods, list(paper.values())), loc="outside lower center", ncols=4)
    return figure


def _variant(axes: Axes, rows: pd.DataFrame, method: str) -> str:
    """Draw the heads of a variant and return what to say of them."""
    style = look(method)
    alpha = rows["alpha"].to_numpy(dtype=float)
    if method in FIXED_ALPHA:
        alpha = alpha + np.linspace(-HALF_WIDTH, HALF_WIDTH, len(rows))
    looks: dict[str, Any] = {"color": style.colour, "marker": style.marker, "markersize": 3.2, "markeredgewidth": 0}
    axes.plot(alpha, rows["value"], linestyle="none", alpha=0.8, **looks)
    return f"{label(method)}: mean sd {rows['value'].mean():.3f}, least {rows['value'].min():.3f}"


def _handles(methods: list[str], paper: list[float]) -> list[Line2D]:
    handles = [
        Line2D(
            [], [], color=look(name).colour, marker=look(name).marker, linestyle="none", label=f"heads, {label(name)}"
        )
        for name in methods
    ]
    for alpha in paper:
        text = f"paper, the head shown: α = {alpha:g}"
        handles.append(Line2D([], [], color=PAPER, linewidth=1, linestyle=(0, (3, 2)), label=text))
    return handles
