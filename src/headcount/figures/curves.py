"""Curves with an error bar at each point, side by side, and the frame of an axis that counts heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import Group, Value
from headcount.figures.style import EDGE, PAGE_INCHES, Look, look

Content = TypeVar("Content")

DODGE = 0.011
"""Distance of points of neighbouring curves at the same place, as a share of the axis."""

TICKS = 8
"""Most ticks of an axis of heads."""

DASHES = (0, (4, 2))
"""Stroke of the line at the dense model."""


def curve(axes: Axes, points: Mapping[float, Value], style: Look, shift: float = 0.0) -> None:
    """Draw a curve whose points stand `shift` beside their places, with error bars where there are several seeds."""
    places = sorted(points)
    axes.errorbar(
        [place + shift for place in places],
        [points[place].centre for place in places],
        yerr=np.transpose([points[place].error for place in places]),
        color=style.colour,
        marker=style.marker,
        **EDGE,
        linewidth=0.9,
        elinewidth=0.8,
        zorder=3,
    )


def shifts(curves: int, width: float) -> list[float]:
    """Return how far each of some curves is moved aside on an axis of the given width."""
    return [(rank - (curves - 1) / 2) * DODGE * width for rank in range(curves)]


def dense_line(axes: Axes, dense: Group | None) -> None:
    """Draw BLEU of the dense model as a line with its band."""
    value = dense.bleu() if dense else None
    if value is not None:
        axes.axhline(value.centre, color=look("baseline").colour, linewidth=0.8, linestyle=DASHES, zorder=1)
        axes.axhspan(value.low, value.high, color=look("baseline").colour, alpha=0.07, linewidth=0, zorder=0)


def removed_axis(axes: Axes, sizes: Sequence[int], every: int, heads: str) -> float:
    """Set the axis of the share of heads removed, with the heads kept above, and return its width.

    Args:
        axes: whose x is the share.
        sizes: numbers of heads kept.
        every: heads of the dense model.
        heads: what is counted.

    """
    shares = sorted(1 - size / every for size in sizes)
    width = max(shares[-1] - shares[0], 0.1) * 1.24
    middle = (shares[0] + shares[-1]) / 2
    axes.set_xlim(middle - width / 2, middle + width / 2)
    ticks = thinned(shares)
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel(f"{heads} removed")
    above = axes.secondary_xaxis("top")
    above.set_xticks(ticks, [f"{every * (1 - share):.0f}" for share in ticks])
    above.set_xlabel(f"{heads} kept (of {every})")
    above.spines["top"].set_visible(True)
    axes.grid(axis="y")
    return width


def thinned(places: Sequence[float]) -> list[float]:
    """Return every place, or every so-maniest where they are too many for ticks, the last always among them."""
    step = -(-len(places) // TICKS)
    return list(places[::-1][::step][::-1])


def dense_handle() -> Line2D:
    """Return the legend's entry of the dense line."""
    style = look("baseline")
    return Line2D([], [], color=style.colour, linewidth=0.8, linestyle=DASHES, label=style.label)


def handle(style: Look, label: str = "") -> Line2D:
    """Return the legend's entry of a curve."""
    return Line2D([], [], color=style.colour, marker=style.marker, linewidth=0.9, label=label or style.label)


def filled(line: Sequence[Axes], row: Sequence[Content]) -> Iterator[tuple[Axes, Content]]:
    """Pair the panels of a line with what belongs in them; those that are left over are switched off."""
    for axes in line[len(row) :]:
        axes.set_axis_off()
    return zip(line, row, strict=False)


def row_of(panels: int, *, most: int, row_inches: float, legend_inches: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, at most `most` in a row, and room for a legend below."""
    columns = min(panels, most)
    rows = -(-panels // columns)
    width = PAGE_INCHES * (0.7 if columns == 1 else 1)
    figure = Figure(figsize=(width, row_inches * rows + legend_inches), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    return figure, [axes for axes, _ in filled(list(grid.flat), range(panels))]
