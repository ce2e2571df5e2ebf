"""How many heads each layer has left after each lottery round (behnke2020, tables 3 and 4), a panel a type.

Means over the seeds with their standard deviation; a row for each corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from headcount.figures.curves import curve, handle, thinned
from headcount.figures.groups import Value, note, over_seeds, read
from headcount.figures.lottery_rounds import layers, left, main_rounds
from headcount.figures.style import (
    ATTENTION_LABELS,
    PAGE_INCHES,
    Look,
    nothing_to_draw,
    panel_title,
    paper_style,
    save,
)

ROW_INCHES = 2.2
LEGEND_INCHES = 0.45
DODGE = 0.07
"""Distance of neighbouring layers, in rounds."""

MARKERS = "os^Dvp<>hP*X"
RAMP = LinearSegmentedColormap.from_list("layers", ["#E69F00", "#D55E00", "#241B4B"])
"""From the first layer (pale) to the last (dark)."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `rounds.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "rounds")), out)


def _figure(runs: pd.DataFrame, rounds: pd.DataFrame) -> Figure:
    found = [(corpus, left(table)) for corpus, table in main_rounds(runs, rounds)]
    if not found:
        return nothing_to_draw("no lottery round has ranked heads")
    kinds = [kind for kind in ATTENTION_LABELS if any(kind in table for _, table in found)]
    looks = _looks(1 + max(layer for _, table in found for _, layer in layers(table)))
    width = PAGE_INCHES * (len(kinds) + 0.2) / (len(ATTENTION_LABELS) + 0.2)
    figure = Figure(figsize=(width, ROW_INCHES * len(found) + LEGEND_INCHES), layout="constrained")
    grid = figure.subplots(len(found), len(kinds), squeeze=False, sharey="row")
    for line, (corpus, table) in zip(grid, found, strict=True):
        for axes, kind in zip(line, kinds, strict=True):
            if kind in table:
                _panel(axes, table, kind, looks)
                panel_title(axes, ATTENTION_LABELS[kind] + note(runs, corpus))
            else:
                axes.set_axis_off()
        line[0].set_ylabel("heads left in the layer")
    figure.legend(handles=[handle(look) for look in looks], loc="outside lower center", ncols=min(6, len(looks)))
    return figure


def _looks(layers: int) -> list[Look]:
    """Return a look for each layer, from pale to dark."""
    shades = [to_hex(RAMP(layer / max(layers - 1, 1))) for layer in range(layers)]
    return [Look(f"layer {layer + 1}", shades[layer], MARKERS[layer % len(MARKERS)]) for layer in range(layers)]


def _panel(axes: Axes, table: pd.DataFrame, kind: str, looks: Sequence[Look]) -> None:
    totals = table.sum(axis=1).groupby("round").mean()
    columns = [column for column in layers(table) if column[0] == kind]
    for place, column in enumerate(columns):
        heads = {number: table.xs(number, level="round")[column] for number in map(int, totals.index)}
        points: dict[float, Value] = {number: value for number, of in heads.items() if (value := over_seeds(of))}
        curve(axes, points, looks[column[1]], DODGE * (place - (len(columns) - 1) / 2))
    ticks = thinned(list(totals.index))
    axes.set_xticks(ticks, [f"{number}\n{totals[number]:.0f}" for number in ticks])
    axes.set_xlabel("round, and heads left in all")
    axes.set_ylim(bottom=-0.3)
    axes.grid(axis="y")
