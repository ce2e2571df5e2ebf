"""Heads that bind the pieces of a word, and heads that look from question words at the question mark (figures 8, 9).

Both of correia2019. Every encoder head of every seed is a point, by layer and attention variant, main corpus; the best
head of each variant is ringed, and for learned α its α is given. The merging score of a word of several pieces is the
largest weight that one of them gives to the others, of a word of one piece its weight on itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import main_corpus, note, of_main, read
from headcount.figures.style import PAGE_INCHES, PALE, PAPER, look, nothing_to_draw, paper_style, save
from headcount.figures.variants import (
    IN_PAPER,
    LINE_POINTS,
    SOFTMAX,
    best,
    dense,
    label,
    numbers,
    of_runs,
    printed,
    remarks,
    variants,
    with_alpha,
)

HEIGHT_INCHES = 2.9
DODGE = 0.27
"""Distance between the variants of a layer."""

MEASURES = {
    "merging": ("merging of a word's pieces", "figure8"),
    "interrogation": ("question word → question mark", "figure9"),
}
"""Title of each measure's panel, and where the paper has the best heads."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs`, `links` and `observations` and the paper's numbers, and write `out` (SVG) and the same as PDF."""
    paper = {measure: printed(numbers(tables, item), "best head") for measure, (_, item) in MEASURES.items()}
    with paper_style():
        save(_figure(*(read(tables, name) for name in ("runs", "links", "observations")), paper=paper), out)


def _figure(
    runs: pd.DataFrame, links: pd.DataFrame, measures: pd.DataFrame, *, paper: dict[str, dict[str, float]]
) -> Figure:
    links = of_runs(links, dense(of_main(runs, runs)))
    links = links[(links["attention"] == "encoder") & links["measure"].isin(MEASURES)]
    if not set(links["method"]) - {SOFTMAX}:
        return nothing_to_draw("no head of a sparse attention was measured")
    heads = with_alpha(links, measures)
    shown = [measure for measure in MEASURES if measure in set(heads["measure"])]
    figure = Figure(figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained")
    row = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    methods = variants(heads)
    for axes, measure in zip(row, shown, strict=True):
        title = MEASURES[measure][0] + note(runs, main_corpus(runs))
        axes.set_title(title, loc="left", weight="bold", pad=4 + LINE_POINTS * len(methods))
        _panel(axes, heads[heads["measure"] == measure], methods, paper[measure])
    row[0].set_ylabel("mean weight or score, encoder heads")
    row[0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    row[0].set_ylim(0, 1.03)
    figure.legend(handles=_handles(methods, any(paper.values())), loc="outside lower center", ncols=5)
    return figure


def _panel(axes: Axes, heads: pd.DataFrame, methods: list[str], paper: dict[str, float]) -> None:
    """Draw the heads by layer; on the right the paper's best head of each variant."""
    layers = int(heads["layer"].max()) + 1
    lines: dict[str, str] = {}
    places = {method: (rank - (len(methods) - 1) / 2) * DODGE for rank, method in enumerate(methods)}
    for method, shift in places.items():
        style = look(method)
        rows = heads[heads["method"] == method]
        looks: dict[str, Any] = {"color": style.colour, "marker": style.marker, "linestyle": "none"}
        axes.plot(rows["layer"] + 1 + shift, rows["value"], markersize=3.2, markeredgewidth=0, **looks)
        if not rows.empty:
            top = best(rows)
            place = (top["layer"] + 1 + shift, top["value"])
            axes.plot(*place, "o", color="none", markeredgecolor="black", markersize=7)
            lines[_words(top)] = style.colour
        theirs = paper.get(IN_PAPER.get(method, ""))
        if theirs is not None:
            axes.plot(layers + 1 + shift, theirs / 100, **{**looks, "color": PAPER}, markersize=5, markeredgewidth=0)
    remarks(axes, *lines, colours=list(lines.values()))
    names = [str(layer) for layer in range(1, layers + 1)]
    axes.set_xlabel("layer")
    axes.grid(axis="y")
    if paper:
        axes.axvspan(layers + 0.5, layers + 1.5, color=PALE, alpha=0.6, linewidth=0)
        names.append("paper,\nbest")
    axes.set_xticks(range(1, len(names) + 1), names)
    axes.set_xlim(0.5, len(names) + 0.5)


def _words(head: pd.Series) -> str:
    """Describe the best head of a variant."""
    alpha = "" if pd.isna(head["alpha"]) else f", α = {head['alpha']:.2f}"
    return f"{label(head['method'])}: {head['value']:.1%} (layer {head['layer'] + 1}, head {head['head'] + 1}{alpha})"


def _handles(methods: list[str], paper: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], color=look(name).colour, marker=look(name).marker, linestyle="none", label=label(name))
        for name in methods
    ]
    ring = Line2D([], [], color="none", marker="o", markersize=7, markeredgecolor="black", label="best head")
    grey = Line2D([], [], color=PAPER, marker="o", linestyle="none", label="paper (6 layers, en-de)")
    return [*handles, ring, *([grey] if paper else [])]
