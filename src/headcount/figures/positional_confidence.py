"""How much weight the encoder heads put on the piece before and after, by attention variant (correia2019, figure 7).

Confidence is the mean weight at the offset over the validation set; every encoder head of every seed is a point, main
corpus. Filled points meet the study's criterion of a positional head, where roles were measured. The most confident
head of each seed is ringed; that of all seeds is named, with its α where it has learned one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import main_corpus, note, of_main, read
from headcount.figures.style import PAGE_INCHES, PAPER, look, nothing_to_draw, panel_title, paper_style, role_name, save
from headcount.figures.variants import (
    IN_PAPER,
    SOFTMAX,
    best,
    dense,
    label,
    numbers,
    of_runs,
    printed,
    variants,
    with_alpha,
)

HEIGHT_INCHES = 2.6
OFFSET = "offset_"
SEEDS_WIDTH = 0.8
"""Width that the seeds of a variant share, where variants are one apart."""


def draw(tables: Path, out: Path) -> None:
    """Read four tables, named below, and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    names = ("runs", "links", "observations", "roles")
    with paper_style():
        save(_figure(*(read(tables, name) for name in names), paper=numbers(tables, "figure7")), out)


def _figure(
    runs: pd.DataFrame, links: pd.DataFrame, measures: pd.DataFrame, roles: pd.DataFrame, *, paper: pd.DataFrame
) -> Figure:
    links = of_runs(links, dense(of_main(runs, runs)))
    links = links[(links["attention"] == "encoder") & links["measure"].str.startswith(OFFSET)]
    if not set(links["method"]) - {SOFTMAX}:
        return nothing_to_draw("no sparse attention was measured at offsets")
    heads = with_alpha(links, measures)
    offsets = list(dict.fromkeys(str(measure).removeprefix(OFFSET) for measure in heads["measure"]))
    figure = Figure(figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained")
    row = figure.subplots(1, len(offsets), sharey=True, squeeze=False)[0]
    for axes, offset in zip(row, offsets, strict=True):
        panel_title(axes, f"weight at offset {role_name(offset)}{note(runs, main_corpus(runs))}")
        _panel(axes, heads[heads["measure"] == OFFSET + offset], _named(roles, offset), paper, offset)
    row[0].set_ylabel("mean weight, encoder heads")
    row[0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    row[0].set_ylim(0, 1.12)
    row[0].set_yticks(np.linspace(0, 1, 6))
    figure.legend(handles=_handles(not roles.empty, not paper.empty), loc="outside lower center", ncols=4)
    return figure


def _named(roles: pd.DataFrame, offset: str) -> set[tuple[str, int, int]]:
    """Return the encoder heads (run, layer, head) that are positional at the offset."""
    found = roles[(roles["role"] == offset) & (roles["labels"] == "gold") & (roles["named"] == 1)]
    found = found[found["attention"] == "encoder"]
    return set(found[["run", "layer", "head"]].itertuples(index=False, name=None))


def _panel(axes: Axes, heads: pd.DataFrame, named: set[tuple[str, int, int]], paper: pd.DataFrame, offset: str) -> None:
    """Draw the heads of each variant, and the median of those that the paper calls positional."""
    axes.grid(axis="y")
    shown = variants(heads)
    medians = printed(paper, f"offset {offset}")
    counts = printed(paper, f"heads for offset {offset}")
    ticks = []
    for place, method in enumerate(shown):
        rows = heads[heads["method"] == method]
        found = [_seed(axes, x, seed, method, named) for x, seed in _side_by_side(place, rows)]
        _name_best(axes, place, best(rows))
        theirs = counts.get(IN_PAPER.get(method, ""))
        remark = f"\npaper: {theirs:.0f}" if theirs is not None else ""
        ticks.append(f"{label(method)}\npositional: {', '.join(map(str, found))}{remark if named else ''}")
        median = medians.get(IN_PAPER.get(method, ""))
        if median is not None:
            axes.plot([place - 0.45, place + 0.45], [median / 100] * 2, color=PAPER, linewidth=1.6, zorder=1)
    axes.set_xticks(range(len(shown)), ticks if named else [label(method) for method in shown])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(shown) - 0.5)


def _side_by_side(place: float, rows: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    """Return the middle and the heads of each seed of a variant."""
    seeds = [seed for _, seed in rows.groupby("run")]
    width = SEEDS_WIDTH / len(seeds)
    return [(place + (number - (len(seeds) - 1) / 2) * width, seed) for number, seed in enumerate(seeds)]


def _across(middle: float, layer: Any, layers: int) -> Any:
    """Spread heads to both sides of `middle`, lower layers on the left."""
    return middle + 0.24 * ((layer + 0.5) / layers - 0.5)


def _seed(axes: Axes, x: float, heads: pd.DataFrame, method: str, named: set[tuple[str, int, int]]) -> int:
    """Draw the heads of one run, ring the most confident, and return how many are positional."""
    style = look(method)
    layers = int(heads["layer"].max()) + 1
    places = _across(x, heads["layer"], layers)
    ours = [(run, layer, head) in named for run, layer, head in heads[["run", "layer", "head"]].itertuples(index=False)]
    filled = np.array(ours) | (not named)
    looks: dict[str, Any] = {"color": style.colour, "marker": style.marker, "markersize": 3.2, "linestyle": "none"}
    axes.plot(places[filled], heads["value"][filled], markeredgewidth=0, **looks)
    axes.plot(places[~filled], heads["value"][~filled], markerfacecolor="white", markeredgewidth=0.5, **looks)
    top = best(heads)
    axes.plot(_across(x, top["layer"], layers), top["value"], "o", markersize=7, color="none", markeredgecolor="black")
    return sum(ours)


def _name_best(axes: Axes, place: float, head: pd.Series) -> None:
    alpha = "" if pd.isna(head["alpha"]) else f", α = {head['alpha']:.2f}"
    text = f"{head['layer'] + 1}.{head['head'] + 1}: {head['value']:.1%}{alpha}"
    axes.annotate(text, (place, head["value"]), (0, 6), textcoords="offset points", ha="center", fontsize=6)


def _handles(roles: bool, paper: bool) -> list[Line2D]:
    point: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 3.2, "linestyle": "none"}
    handles = [
        Line2D([], [], color="none", marker="o", markersize=7, markeredgecolor="black", label="best (layer.head)"),
        Line2D([], [], label="positional head" if roles else "a head", **point),
    ]
    if roles:
        handles.append(Line2D([], [], label="other head", markerfacecolor="white", markeredgewidth=0.5, **point))
    if paper:
        text = "paper, median of its positional heads"
        handles.append(Line2D([], [], color=PAPER, linewidth=1.6, label=text))
    return handles
