"""All ways to few heads side by side: BLEU at as many heads, which attention types keep them, and speed of decoding.

A block for each number of heads, a line for each way; of a method with several settings the one with the lowest
validation loss is drawn, and how many were tried stands beside its name. Smaller dense models come last: their speed is
what a pruned model has to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from headcount.figures.curves import DASHES, dense_handle
from headcount.figures.equal_heads import WAYS, Contest, contests
from headcount.figures.groups import Group, Value, read
from headcount.figures.heads_by_type import STYLES
from headcount.figures.style import (
    EDGE,
    PAGE_INCHES,
    SHORT_LABELS,
    Look,
    look,
    nothing_to_draw,
    paper_style,
    save,
)

LINE_INCHES = 0.17
AROUND_INCHES = 0.34
ENDS_INCHES = 0.8
WIDTHS = (1.5, 1.3, 1.0)
READABLE = 0.045
"""Smallest part of a bar in which its number has room, as a share of the dense model's heads."""

BESIDE = ("axes fraction", "data")
UPDATES = 1.3
"""Right end of the numbers beside the last panels, in widths of a panel."""

LEFT_OUT = ("ticket-inverse", "ticket-from_start", "ticket-per_layer")
"""Variants that ask what the ticket's parts are worth; they are in the ticket's own figure."""

SHOWN = tuple(name for name in WAYS if name not in LEFT_OUT)


@dataclass(frozen=True)
class Line:
    """A model beside others: its name, its look and its runs."""

    label: str
    look: Look
    group: Group


@dataclass(frozen=True)
class Block:
    """Lines that are compared, under a title, with the dense model of their corpus."""

    title: str
    lines: Sequence[Line]
    contest: Contest


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `curves.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "curves")), out)


def blocks(runs: pd.DataFrame, curves: pd.DataFrame) -> list[Block]:
    """Return the numbers of heads that two ways or more kept, most first, and the smaller dense models of a corpus."""
    found = []
    listed = contests(runs, curves)
    last = {contest.corpus: contest for contest in listed}
    for contest in listed:
        arms = contest.arms(SHOWN)
        for size in contest.sizes:
            lines = [Line(arm.label, arm.look, arm.models[size]) for arm in arms if size in arm.models]
            if len(lines) > 1:
                title = contest.titled(f"{size} of {contest.every} {contest.heads} kept", runs)
                found.append(Block(title, lines, contest))
        smaller = [Line(group.variant, look("smaller"), group) for group in contest.smaller]
        if smaller and contest is last[contest.corpus]:
            found.append(Block(contest.titled("smaller dense models", runs), smaller, contest))
    return found


def _figure(runs: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    found = blocks(runs, curves)
    if not found:
        return nothing_to_draw("no two ways kept as many heads")
    heights = [LINE_INCHES * len(block.lines) + AROUND_INCHES for block in found]
    figure = Figure(figsize=(PAGE_INCHES, sum(heights) + ENDS_INCHES), layout="constrained")
    grid = figure.subplots(
        len(found), len(WIDTHS), squeeze=False, sharex="col", width_ratios=WIDTHS, height_ratios=heights
    )
    for line, block in zip(grid, found, strict=True):
        _block(line, block)
    for axes, label in zip(grid[-1], ("BLEU on the test set", "heads kept", "decoding speed-up"), strict=True):
        axes.set_xlabel(label)
    grid[0, 1].set_xlim(left=0)
    grid[0, 2].set_title("updates in all", loc="right", pad=4, x=UPDATES)
    figure.legend(handles=_handles(), loc="outside lower center", ncols=len(STYLES) + 1)
    return figure


def _block(line: npt.NDArray[Any], block: Block) -> None:
    bleu, heads, speed = line
    for axes in line:
        axes.set_ylim(len(block.lines) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(len(block.lines)), [])
        axes.grid(axis="x")
    bleu.set_yticks(range(len(block.lines)), [one.label for one in block.lines])
    bleu.set_title(block.title, loc="left", pad=4, weight="bold")
    dense = block.contest.dense
    every = [dense, *(one.group for one in block.lines)]
    most = max(value.centre for group in every if group and (value := group.value("heads")))
    _reference(bleu, dense.bleu() if dense else None)
    _reference(speed, Value(1.0, 1.0, 1.0, 1))
    for place, one in enumerate(block.lines):
        _point(bleu, one.group.bleu(), place, one.look)
        _point(speed, one.group.value("speedup"), place, one.look)
        _heads(heads, one.group, place, most)
        _updates(speed, one.group, place)


def _reference(axes: Axes, value: Value | None) -> None:
    if value is not None:
        axes.axvline(value.centre, color="black", linewidth=0.8, linestyle=DASHES, zorder=1)
        axes.axvspan(value.low, value.high, color="black", alpha=0.07, linewidth=0, zorder=0)


def _point(axes: Axes, value: Value | None, place: int, style: Look) -> None:
    if value is not None:
        error = [[end] for end in value.error]
        looks: dict[str, Any] = {"color": style.colour, "marker": style.marker, **EDGE}
        axes.errorbar(value.centre, place, xerr=error, **looks, elinewidth=0.9, zorder=3)


def _updates(axes: Axes, group: Group, place: int) -> None:
    """Write at the right how many updates a model has behind it, its ancestors' included."""
    if updates := group.value("updates_total"):
        axes.annotate(
            f"{updates.centre:,.0f}", (UPDATES, place), xycoords=BESIDE, ha="right", va="center", fontsize=6.5
        )


def _heads(axes: Axes, group: Group, place: int, most: float) -> None:
    """Stack the mean numbers of heads of each attention type."""
    start = 0.0
    for kind, (colour, _) in STYLES.items():
        value = group.value(f"heads_{kind}")
        width = value.centre if value else 0.0
        axes.barh(place, width, left=start, height=0.66, color=colour, edgecolor="white", linewidth=0.6)
        if width >= READABLE * most:
            axes.text(
                start + width / 2, place + 0.04, f"{width:.0f}", ha="center", va="center", fontsize=5, color="white"
            )
        start += width


def _handles() -> list[Line2D | Patch]:
    bars = [Patch(color=colour, label=f"{SHORT_LABELS[kind]} heads") for kind, (colour, _) in STYLES.items()]
    return [dense_handle(), *bars]
