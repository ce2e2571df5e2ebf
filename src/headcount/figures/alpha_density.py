"""Learned α and density of the attention heads (correia2019, figures 3 and 4), by attention type, main corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headcount.figures.groups import PRUNED, in_order, main_corpus, note, of_main, read
from headcount.figures.style import (
    ATTENTION_LABELS,
    GREY,
    PAGE_INCHES,
    look,
    nothing_to_draw,
    paper_style,
    save,
    shades,
)

ROW_INCHES = 1.4
ALPHA_RANGE = (1.0, 2.0)
BINS = 15
"""Bins of both histograms, as in the paper."""

LEARNED = "entmax_alpha"
"""The method whose α is drawn: one learned α a head."""

SOFTMAX = "baseline"
"""Dense by nature: mentioned in words, since its single bar would flatten all others."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs`, `alpha`, `observations` and `density` and write the figure to `out` (SVG) and as PDF."""
    names = ("runs", "alpha", "observations", "density")
    with paper_style():
        save(_figure(*(read(tables, name) for name in names)), out)


def _figure(runs: pd.DataFrame, trajectories: pd.DataFrame, measures: pd.DataFrame, density: pd.DataFrame) -> Figure:
    dense = of_main(runs, runs)
    dense = dense[~dense["method"].isin(PRUNED)]
    learned = dense[dense["method"] == LEARNED]["run"]
    trajectories = trajectories[trajectories["run"].isin(learned)]
    final = measures[(measures["measure"] == "alpha") & measures["run"].isin(learned)]
    density = density[density["run"].isin(dense["run"])]
    parts = [
        part
        for part in (
            ("α during training", "update", trajectories, _trajectories),
            ("heads", "learned α", final, _alpha),
            ("head–sentence pairs", "density of the attention", density, _density),
        )
        if not part[2].empty
    ]
    if not set(density["method"]) - {SOFTMAX}:
        return nothing_to_draw("no run with sparse attention was observed")
    figure = Figure(figsize=(PAGE_INCHES, ROW_INCHES * len(parts) + 0.3), layout="constrained")
    grid = figure.subplots(len(parts), len(ATTENTION_LABELS), sharey="row", squeeze=False)
    for line, (label, below, table, panel) in zip(grid, parts, strict=True):
        for axes, kind in zip(line, ATTENTION_LABELS, strict=True):
            axes.grid(axis="y")
            axes.set_xlabel(below)
            panel(axes, table[table["attention"] == kind])
        line[0].set_ylabel(label)
        if panel is not _trajectories:
            line[0].set_ylim(bottom=0)  # after all panels of the row, since it ends their common scaling
        handles = _layers(table) if panel is _trajectories else _methods(table) if panel is _density else []
        if handles:
            line[-1].legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5))
    remark = note(runs, main_corpus(runs)).removeprefix(", ")
    if remark:
        figure.suptitle(remark, x=0.01, ha="left", fontsize=7.5, color=GREY)
    for axes, name in zip(grid[0], ATTENTION_LABELS.values(), strict=True):
        axes.set_title(name, weight="bold", pad=6 if parts[0][3] is _trajectories else 14)
    return figure


def _trajectories(axes: Axes, table: pd.DataFrame) -> None:
    """Draw one line for each head of the first run, darker for higher layers."""
    layers = int(table["layer"].max()) + 1
    first = table[table["run"] == table["run"].iloc[0]]
    for (layer, _), head in first.groupby(["layer", "head"]):
        axes.plot(head["update"], head["alpha"], color=_layer_colour(layer, layers), linewidth=0.7, alpha=0.85)
    axes.set_ylim(*ALPHA_RANGE)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))


def _layer_colour(layer: Any, layers: int) -> Any:
    return shades("#7A2F6B")((layer + 1.5) / (layers + 0.5))


def _layers(table: pd.DataFrame) -> list[Line2D]:
    layers = int(table["layer"].max()) + 1
    return [Line2D([], [], color=_layer_colour(layer, layers), label=f"layer {layer + 1}") for layer in range(layers)]


def _alpha(axes: Axes, table: pd.DataFrame) -> None:
    style = look(LEARNED)
    values = table["value"].to_numpy(dtype=float)
    axes.hist(values, bins=BINS, range=ALPHA_RANGE, color=style.colour, edgecolor="white", linewidth=0.5)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.axvline(values.mean(), color="black", linewidth=0.9, linestyle="--")
    _note(axes, f"{len(values)} heads, mean {values.mean():.2f}, sd {values.std():.2f}")
    axes.set_xlim(*ALPHA_RANGE)


def _density(axes: Axes, table: pd.DataFrame) -> None:
    for method, rows in table.groupby("method"):
        counts = rows.groupby(["low", "high"])["sentences"].sum().reset_index()
        shares = counts["sentences"].to_numpy(dtype=float) / counts["sentences"].sum()
        if method == SOFTMAX:
            _note(axes, f"softmax: {shares[-1]:.0%} in the last bin")
            continue
        style = look(str(method))
        edges = np.append(counts["low"], counts["high"].iloc[-1])
        axes.stairs(shares, edges, fill=True, color=style.colour, alpha=0.3, linewidth=0)
        axes.stairs(shares, edges, color=style.colour, linewidth=1.2, baseline=None)
    axes.set_xlim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_locator(MaxNLocator(5))


def _note(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="right", pad=2, fontsize=6, color=GREY)


def _methods(table: pd.DataFrame) -> list[Patch]:
    methods = in_order(set(table["method"]) - {SOFTMAX})
    return [
        Patch(facecolor=(look(name).colour, 0.3), edgecolor=look(name).colour, label=look(name).label)
        for name in methods
    ]
