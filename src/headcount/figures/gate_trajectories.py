"""How the L0 gates close: P(g ≠ 0) of each head over the updates, one panel for each L0 run of the main corpus."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headcount.figures.groups import SOFTMAX, Group, groups, main_corpus, note, of_main, read
from headcount.figures.style import GREY, PAGE_INCHES, SHORT_LABELS, look, nothing_to_draw, paper_style, save

GATE_INCHES = 0.034
SMALLEST_INCHES = 1.0
GAP_INCHES = 0.92
TOP_INCHES = 0.55
BOTTOM_INCHES = 0.4
LEFT_INCHES = 0.9
RIGHT_INCHES = 0.75
PANELS = 6
"""Most panels of a row; more λ go on in the next."""

LEVELS = 20
"""Steps of the colour scale; equal neighbours in time become one rectangle, which keeps the file small."""

COLOURS = LinearSegmentedColormap.from_list("closed to open", ["#F3F0E6", "#E69F00", "#D55E00", "#241B4B"], LEVELS + 1)
"""From closed (pale) to open (dark); its lightness falls evenly, so that it reads without colour."""

SCOPES = {"encoder": "gates in the encoder, decoder frozen", "all": "gates in all attentions"}


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `gates.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "gates")), out)


def _figure(runs: pd.DataFrame, gates: pd.DataFrame) -> Figure:
    remark = note(runs, main_corpus(runs))
    runs = of_main(runs, runs)
    gated = runs[runs["run"].isin(gates["run"])]
    seed = gated["seed"].min()
    alike = defaultdict(list)
    for group in groups(gated[gated["seed"] == seed]):
        alike[group.normaliser, group.scope].append(group)
    rows = list(alike.values())
    if not rows:
        return nothing_to_draw("this study has no L0 run")
    rows = [row[first : first + PANELS] for row in rows for first in range(0, len(row), PANELS)]
    series = {str(run): table for run, table in gates.groupby("run")}
    heights = [max(SMALLEST_INCHES, GATE_INCHES * len(_gates(series[row[0].first_run]))) for row in rows]
    height = TOP_INCHES + sum(heights) + GAP_INCHES * (len(rows) - 1) + BOTTOM_INCHES
    figure = Figure(figsize=(PAGE_INCHES, height))
    top = height - TOP_INCHES
    for row, inches in zip(rows, heights, strict=True):
        grid = figure.add_gridspec(
            1,
            min(PANELS, max(map(len, rows))),
            left=LEFT_INCHES / PAGE_INCHES,
            right=1 - RIGHT_INCHES / PAGE_INCHES,
            top=top / height,
            bottom=(top - inches) / height,
            wspace=0.12,
        )
        normaliser = "" if row[0].normaliser == SOFTMAX else f", {look(row[0].normaliser).label}"
        title = SCOPES[row[0].scope] + normaliser + remark
        figure.text(LEFT_INCHES / PAGE_INCHES, (top + 0.38) / height, title, weight="bold", va="bottom")
        for column, group in enumerate(row):
            _panel(figure.add_subplot(grid[0, column]), group, series[group.first_run], labelled=column == 0)
        top -= inches + GAP_INCHES
    bar = figure.add_axes(
        (
            1 - (RIGHT_INCHES - 0.12) / PAGE_INCHES,
            (height - TOP_INCHES - heights[0]) / height,
            0.09 / PAGE_INCHES,
            heights[0] / height,
        )
    )
    figure.colorbar(ScalarMappable(cmap=COLOURS), cax=bar, label="P(gate open)", ticks=[0, 0.5, 1])
    if runs["seed"].nunique() > 1:
        figure.text(0.01, 0.01, f"seed {seed:.0f}", color=GREY)
    return figure


def _gates(series: pd.DataFrame) -> pd.DataFrame:
    """List the gates of a run, the types in their order, then by layer and head."""
    place = {kind: rank for rank, kind in enumerate(SHORT_LABELS)}
    gates = series[["attention", "layer", "head"]].drop_duplicates()
    return gates.assign(place=gates["attention"].map(place)).sort_values(["place", "layer", "head"], ignore_index=True)


def _panel(axes: Axes, group: Group, series: pd.DataFrame, *, labelled: bool) -> None:
    gates = _gates(series)
    wide = series.pivot(index=["attention", "layer", "head"], columns="update", values="open_probability")
    probabilities = wide.reindex(pd.MultiIndex.from_frame(gates[["attention", "layer", "head"]])).to_numpy(dtype=float)
    updates = wide.columns.to_numpy(dtype=float)
    axes.add_collection(_rectangles(updates, probabilities))
    axes.set_xlim(0, updates[-1])
    axes.set_ylim(len(gates), 0)
    for _, rows in gates.groupby(["place", "layer"]):
        first, kind, layer = int(rows.index[0]), str(rows["attention"].iloc[0]), int(rows["layer"].iloc[0])
        if first > 0:
            axes.axhline(first, color="white", linewidth=1.6 if layer == 0 else 0.5)
        if labelled:
            axes.annotate(
                f"{SHORT_LABELS[kind] if group.scope == 'all' else 'layer'} {layer + 1}",
                (-3, first + len(rows) / 2),
                xycoords=("axes points", "data"),
                ha="right",
                va="center",
                fontsize=6.5,
            )
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.set_xlabel("update")
    axes.set_title(group.label, loc="left", pad=12)
    kept = group.value("heads" if group.scope == "all" else "heads_encoder")
    if kept is not None:
        remark = f"{kept.centre:.0f} of {len(gates)} kept"
        axes.annotate(
            remark, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=6, color=GREY
        )
    for spine in axes.spines.values():
        spine.set_visible(False)


def _rectangles(updates: npt.NDArray[np.float64], probabilities: npt.NDArray[np.float64]) -> PolyCollection:
    """Draw each gate as a bar whose colour changes where its probability does; a value ends its interval."""
    edges = np.r_[0.0, updates]
    levels = np.rint(probabilities * LEVELS)
    corners, values = [], []
    for gate, row in enumerate(levels):
        changes = np.flatnonzero(np.diff(row)) + 1
        starts, ends = np.r_[0, changes], np.r_[changes, len(row)]
        for start, end in zip(starts, ends, strict=True):
            left, right = edges[start], edges[end]
            corners.append([(left, gate), (right, gate), (right, gate + 1), (left, gate + 1)])
            values.append(row[start] / LEVELS)
    bars = PolyCollection(corners, cmap=COLOURS, edgecolors="face", linewidths=0.5)  # hides the seams
    bars.set_array(np.asarray(values))
    bars.set_clim(0, 1)
    return bars
