"""In which decoder layers self-attention and cross-attention heads survive (voita2019, figure 10).

Share of a layer's heads that are still active against the share of the heads of its type that are pruned, for gates in
all attentions. The paper adds up its six layers in pairs; ours stand one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import Group, gated_everywhere, paper_numbers, read
from headcount.figures.style import (
    ATTENTION_LABELS,
    GREY,
    PAGE_INCHES,
    PAPER,
    Stroke,
    nothing_to_draw,
    panel_title,
    paper_style,
    save,
)

TYPES = ("decoder_self", "decoder_cross")
ROW_INCHES = 1.6
AROUND_INCHES = 0.75
"""Height of the lowest axis and the legend."""

COLOURS = LinearSegmentedColormap.from_list("layers", ["#E69F00", "#CC4C5A", "#3B1F6B"])
"""From the lowest layer to the highest; lightness falls evenly, so that it reads without colour."""

MARKERS = ("o", "s", "^", "D", "v", "P")
STROKES: tuple[Stroke, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)))
"""Of the paper's pairs of layers."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `heads.csv` and the paper's numbers, and write the figure to `out` (SVG) and as PDF."""
    paper = paper_numbers(tables, "voita2019", "figure10").astype({"x": float})
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "heads"), paper), out)


def _figure(runs: pd.DataFrame, heads: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    shown = gated_everywhere(runs)
    if not shown:
        return nothing_to_draw("no model was pruned with gates in all attentions")
    panels = len(shown) + (not paper.empty)
    figure = Figure(figsize=(PAGE_INCHES, ROW_INCHES * panels + AROUND_INCHES), layout="constrained")
    grid = figure.subplots(panels, len(TYPES), squeeze=False, sharex=True, sharey=True)
    layers = int(heads.loc[heads["attention"].isin(TYPES), "layer"].max()) + 1
    for column, kind in enumerate(TYPES):
        kept = heads[heads["attention"] == kind].set_index("run")
        for axes, (corpus, models) in zip(grid[:, column], shown.items(), strict=False):
            _ours(axes, _curves(kept, models), layers)
            panel_title(axes, f"{corpus}: {ATTENTION_LABELS[kind]}".removeprefix(": "))
        if not paper.empty:
            _paper(grid[-1, column], paper[paper["series"].str.startswith(kind)])
            panel_title(grid[-1, column], f"paper, WMT (6 layers): {ATTENTION_LABELS[kind]}")
        grid[-1, column].set_xlabel(f"pruned heads, {ATTENTION_LABELS[kind]}")
    for line in grid:
        line[0].set_ylabel("active heads of the layer")
    for axes in grid.flat:
        axes.plot([0, 1], [1, 0], color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.05)
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid()
    figure.legend(handles=_handles(layers, paper), loc="outside lower center", ncols=4)
    return figure


def _curves(kept: pd.DataFrame, models: Sequence[Group]) -> pd.DataFrame:
    """Return for each group and layer the shares that are pruned and active: means, and deviation over the seeds."""
    rows = []
    for number, group in enumerate(models):
        runs = kept[kept.index.isin(group.rows["run"])]
        pruned_share = 1 - runs["kept"].mean()
        active = runs.groupby(["run", "layer"])["kept"].mean().groupby("layer").agg(["mean", "std"]).fillna(0)
        rows.append(active.reset_index().assign(pruned=pruned_share, group=number))
    return pd.concat(rows, ignore_index=True)


def _ours(axes: Axes, curves: pd.DataFrame, layers: int) -> None:
    for layer, rows in curves.groupby("layer"):
        line = rows.sort_values("pruned", kind="stable")
        axes.errorbar(
            line["pruned"],
            line["mean"],
            yerr=line["std"],
            **_look(layer, layers),
            markeredgecolor="white",
            markeredgewidth=0.4,
            elinewidth=0.7,
            capsize=0,
        )


def _look(layer: Any, layers: int) -> dict[str, Any]:
    """Return colour and marker of a layer, counted from 0."""
    return {"color": COLOURS(layer / max(1, layers - 1)), "marker": MARKERS[layer % len(MARKERS)]}


def _paper(axes: Axes, paper: pd.DataFrame) -> None:
    """Draw the paper's pairs of layers in grey."""
    everything = paper.loc[paper["x"] == 0, "y"].sum()
    for (_, curve), stroke, marker in zip(paper.groupby("series"), STROKES, MARKERS, strict=False):
        line = curve.sort_values("x")
        share = line["y"] / line["y"].max()
        axes.plot(line["x"] / everything, share, color=PAPER, linestyle=stroke, marker=marker, markersize=3)


def _handles(layers: int, paper: pd.DataFrame) -> list[Line2D]:
    handles = [Line2D([], [], label=f"layer {layer + 1}", **_look(layer, layers)) for layer in range(layers)]
    handles.append(Line2D([], [], color=GREY, linewidth=0.8, linestyle=":", label="all layers alike"))
    pairs = dict.fromkeys(str(name).partition(" ")[2] for name in paper["series"])  # "<attention type> layers 1-2"
    for pair, stroke, marker in zip(pairs, STROKES, MARKERS, strict=False):
        handles.append(
            Line2D(
                [],
                [],
                color=PAPER,
                linestyle=stroke,
                marker=marker,
                markersize=3,
                label=f"paper, {pair}".replace("-", "+"),
            )
        )
    return handles
