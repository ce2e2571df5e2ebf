"""BLEU against the encoder heads that L0 gates retain, the decoder frozen, corpus by corpus (voita2019, figure 7).

The paper's curves stand at the same share of heads and the same distance from the dense model as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.groups import SOFTMAX, Group, corpora, groups, paper_numbers, read
from headcount.figures.style import PAGE_INCHES, PAPER, look, nothing_to_draw, panel_title, paper_style, save

COLUMNS = 3
ROW_INCHES = 2.1
LEGEND_INCHES = 0.75
SINGLE_INCHES = 4.4
"""Width of a figure with one panel."""

COLUMN = "heads_encoder"
Stroke = Literal["-", "none"] | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Curve:
    """How a kind of run is drawn; `shift` moves it to the right, as a share of the axis, off the others' error bars."""

    label: str
    colour: str
    marker: str
    stroke: Stroke
    shift: float = 0.0
    filled: bool = True


CURVES = {
    "l0": Curve("L0 gates, one λ each", look("l0").colour, "o", "-"),
    "target": Curve("L0 gates, number of heads set", look("l0").colour, "s", "none", filled=False),
    "random": Curve("as many random heads, same fine-tuning", look("random").colour, look("random").marker, "-", 0.01),
    "scratch": Curve("same heads, from scratch", look("scratch").colour, look("scratch").marker, "none", -0.01),
}

PAPER_STROKES: tuple[Stroke, ...] = ("-", (0, (1, 1)))


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and the paper's numbers, and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        paper = paper_numbers(tables, "voita2019", "figure7").astype({"x": float})
        save(_figure(read(tables, "runs"), paper), out)


def _figure(runs: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    scored = [group for group in groups(runs) if group.bleu() is not None and group.normaliser == SOFTMAX]
    pruned = [group for group in scored if group.scope == "encoder" and group.method in ("l0", "random", "scratch")]
    shown = [corpus for corpus in corpora(runs) if any(g.corpus == corpus and g.method == "l0" for g in pruned)]
    if not shown:
        return nothing_to_draw("no encoder was pruned with L0 gates")
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    size = (SINGLE_INCHES if len(shown) == 1 else PAGE_INCHES, ROW_INCHES * rows + LEGEND_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    for axes, corpus in zip(grid.flat, shown, strict=False):
        dense = next((group for group in scored if group.corpus == corpus and group.method == "baseline"), None)
        _panel(axes, [group for group in pruned if group.corpus == corpus], dense, paper)
        panel_title(axes, corpus)
    for line in grid:
        line[0].set_ylabel("BLEU on the test set")
    figure.legend(handles=_handles(pruned, paper), loc="outside lower center", ncols=2 if columns == 1 else 3)
    return figure


def _series(group: Group) -> str:
    return "target" if group.method == "l0" and not group.penalty >= 0 else group.method


def _panel(axes: Axes, pruned: Sequence[Group], dense: Group | None, paper: pd.DataFrame) -> None:
    most = max(float(group.rows[COLUMN].max()) for group in [*pruned, *([dense] if dense else [])])
    if dense is not None:
        _dense(axes, dense, most)
        _paper(axes, dense, most, paper)
    for name, curve in CURVES.items():
        _curve(axes, curve, [group for group in pruned if _series(group) == name], most)
    for control in (group for group in pruned if group.penalty == 0):
        _remark(axes, control, dense)
    axes.set_xlim(1.1 * most, -0.04 * most)
    quarters = sorted({round(most * share / 4) for share in range(5)})
    axes.set_xticks(quarters, [f"{heads}\n{heads / most:.0%}" for heads in quarters])
    axes.margins(y=0.12)
    axes.grid(axis="y")
    axes.set_xlabel(f"encoder heads retained (of {most:.0f})")


def _dense(axes: Axes, dense: Group, most: float) -> None:
    value = dense.bleu()
    assert value is not None
    axes.axhline(value.centre, color="black", linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    axes.axhspan(value.low, value.high, color="black", alpha=0.07, linewidth=0, zorder=0)
    axes.plot(
        most, value.centre, look("baseline").marker, color="black", markersize=5, markeredgecolor="white", zorder=4
    )


def _paper(axes: Axes, dense: Group, most: float, paper: pd.DataFrame) -> None:
    """Draw each curve of the paper from our dense model on: its share of heads, its change of BLEU."""
    value = dense.bleu()
    assert value is not None
    for (_, curve), stroke in zip(paper.groupby("series", sort=False), PAPER_STROKES, strict=False):
        line = curve.sort_values("x", ascending=False)
        change = line["y"] - line["y"].iloc[0]
        axes.plot(
            line["x"] / line["x"].iloc[0] * most,
            value.centre + change,
            color=PAPER,
            linestyle=stroke,
            linewidth=0.9,
            marker=".",
            markersize=3,
            zorder=1.5,
        )


def _curve(axes: Axes, curve: Curve, series: Sequence[Group], most: float) -> None:
    points = [(heads, bleu) for group in series if (heads := group.value(COLUMN)) and (bleu := group.bleu())]
    if not points:
        return
    points.sort(key=lambda point: -point[0].centre)
    axes.errorbar(
        [heads.centre - curve.shift * most for heads, _ in points],
        [bleu.centre for _, bleu in points],
        xerr=list(zip(*(heads.error for heads, _ in points), strict=True)),
        yerr=list(zip(*(bleu.error for _, bleu in points), strict=True)),
        color=curve.colour,
        marker=curve.marker,
        markersize=5,
        markerfacecolor=curve.colour if curve.filled else "white",
        markeredgecolor="white" if curve.filled else curve.colour,
        markeredgewidth=0.4 if curve.filled else 0.9,
        elinewidth=0.7,
        capsize=1.4,
        linestyle=curve.stroke,
        linewidth=0.9,
        zorder=3,
    )


def _remark(axes: Axes, control: Group, dense: Group | None) -> None:
    """Point out the run that has the extra training alone, on the side of it that the dense model is not on."""
    heads, bleu = control.value(COLUMN), control.bleu()
    assert heads is not None
    assert bleu is not None
    start = dense.bleu() if dense else None
    above = start is None or bleu.centre >= start.centre
    axes.annotate(
        "λ = 0",
        (heads.centre, bleu.high if above else bleu.low),
        (0, 2 if above else -2),
        textcoords="offset points",
        ha="center",
        va="bottom" if above else "top",
        fontsize=6,
        color=look("l0").colour,
    )


def _handles(pruned: Sequence[Group], paper: pd.DataFrame) -> list[Line2D]:
    style = look("baseline")
    handles = [Line2D([], [], color=style.colour, marker=style.marker, linestyle=(0, (4, 2)), label=style.label)]
    present = {_series(group) for group in pruned}
    for curve in (curve for name, curve in CURVES.items() if name in present):
        face = curve.colour if curve.filled else "white"
        looks: dict[str, Any] = {"color": curve.colour, "marker": curve.marker, "markerfacecolor": face}
        handles.append(Line2D([], [], linestyle=curve.stroke, label=curve.label, **looks))
    for series, stroke in zip(paper["series"].unique(), PAPER_STROKES, strict=False):
        label = f"paper, {series} (6 layers), shifted"
        handles.append(Line2D([], [], color=PAPER, marker=".", linestyle=stroke, label=label))
    return handles
