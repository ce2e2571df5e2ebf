"""BLEU against the number of heads kept: what each method loses on the way to few heads (voita2019, figure 7).

The main corpus and the main settings of each method only. Models pruned from sparse attention have its colour and the
marker of the pruning method.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from headcount.figures.groups import PRUNED, SOFTMAX, Group, Value, groups, main_corpus, note, of_main, read
from headcount.figures.style import EDGE, GREY, PAGE_INCHES, Look, look, nothing_to_draw, panel_title, paper_style, save

HEIGHT_INCHES = 2.9

DODGE = 0.02
"""Distance of points with the same number of heads, as a share of the axis."""

LABEL = 0.1
"""Width that a λ label takes, as a share of the axis."""


REWOUND = ("ticket", "same_counts", "reinit")
"""Methods of the lottery, whose heads were removed before the training: a line joins them with the dense model."""


@dataclass(frozen=True)
class Panel:
    """One x-axis: which heads are counted, and which groups are drawn."""

    title: str
    label: str
    column: str
    groups: list[Group]


@dataclass(frozen=True)
class Point:
    """A group's place in a panel."""

    group: Group
    heads: Value
    bleu: Value
    x: float


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs")), out)


def _figure(runs: pd.DataFrame) -> Figure:
    remark = note(runs, main_corpus(runs))
    runs = of_main(runs, runs)
    every = [group for group in groups(runs) if group.bleu() is not None]
    dense = next((group for group in every if group.method == "baseline"), None)
    lookup = next((group for group in every if group.method == "lookup"), None)
    shown = [group for group in every if group not in (dense, lookup)]
    encoder = [group for group in shown if group.scope == "encoder"]
    others = [group for group in shown if group.scope != "encoder"]
    frozen = "" if any(group.method in REWOUND for group in encoder) else ", decoder frozen"
    panels = [
        Panel(f"pruning the encoder{frozen}{remark}", "encoder heads kept", "heads_encoder", encoder),
        Panel(f"all attention types{remark}", "heads kept, all types", "heads", others),
    ]
    panels = [panel for panel in panels if panel.groups]
    if not panels:
        return nothing_to_draw("no pruned or sparse run has a BLEU score")
    figure = Figure(figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained")
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        _panel(axes, panel, dense, everything=float(runs[panel.column].max()))
    row[0].set_ylabel("BLEU on the test set")
    row[0].margins(y=0.1)
    if lookup is not None:
        _lookup(row[0], lookup)
    figure.legend(handles=_handles(dense, shown), loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Axes, panel: Panel, dense: Group | None, everything: float) -> None:
    width = 1.14 * everything
    axes.set_xlim(1.08 * everything, 1.08 * everything - width)
    quarters = [round(everything * share / 4) for share in range(5)]
    axes.set_xticks(quarters, [f"{heads}\n{heads / everything:.0%}" for heads in quarters])
    axes.grid(axis="y")
    axes.set_xlabel(f"{panel.label} (of {everything:.0f})")
    panel_title(axes, panel.title)
    points = _points(panel, dense, width)
    series = defaultdict(list)
    for point in points:
        series[_series(point.group)].append(point)
    start = series.pop(("baseline", SOFTMAX), [])
    for point in start:
        axes.axhline(point.bleu.centre, color="black", linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        axes.axhspan(point.bleu.low, point.bleu.high, color="black", alpha=0.07, linewidth=0, zorder=0)
        _draw(axes, [point])
    for (method, normaliser), found in series.items():
        line = [*start, *found] if method in REWOUND and normaliser == SOFTMAX else found
        axes.plot(
            [point.x for point in line],
            [point.bleu.centre for point in line],
            color=_look(found[0].group).colour,
            linewidth=0.9,
            alpha=0.7,
            zorder=2,
        )
        _draw(axes, found)
    _label_penalties(axes, [point for point in points if point.group.penalty >= 0], width)


def _series(group: Group) -> tuple[str, str]:
    """Return what points of one colour and marker have in common: the method, and what it pruned."""
    return group.method, group.normaliser if group.method in PRUNED else SOFTMAX


def _look(group: Group) -> Look:
    style = look(group.method)
    _, normaliser = _series(group)
    if normaliser == SOFTMAX:
        return style
    sparse = look(normaliser)
    return Look(f"{style.label}, {sparse.label}", sparse.colour, style.marker)


def _points(panel: Panel, dense: Group | None, width: float) -> list[Point]:
    """Place the groups; those with (nearly) the same number of heads stand side by side."""
    found = [
        Point(group, heads, bleu, heads.centre)
        for group in ([dense] if dense else []) + panel.groups
        if (heads := group.value(panel.column)) and (bleu := group.bleu())
    ]
    clusters: list[list[Point]] = []
    for point in sorted(found, key=lambda point: -point.heads.centre):
        if clusters and clusters[-1][0].heads.centre - point.heads.centre < DODGE * width / 2:
            clusters[-1].append(point)
        else:
            clusters.append([point])
    return [
        Point(point.group, point.heads, point.bleu, point.x - (rank - (len(cluster) - 1) / 2) * DODGE * width)
        for cluster in clusters
        for rank, point in enumerate(cluster)
    ]


def _draw(axes: Axes, points: Sequence[Point]) -> None:
    for point in points:
        style = _look(point.group)
        below, above = point.bleu.error
        left, right = point.heads.error
        axes.errorbar(
            point.x,
            point.bleu.centre,
            yerr=[[below], [above]],
            xerr=[[left], [right]] if left + right > 0 else None,
            color=style.colour,
            marker=style.marker,
            **EDGE,
            elinewidth=0.8,
            linestyle="none",
            zorder=3,
        )


def _label_penalties(axes: Axes, points: Sequence[Point], width: float) -> None:
    """Write each λ above or below its error bar, whichever is free of the label before it."""
    free = {"above": float("inf"), "below": float("inf")}
    for point in sorted(points, key=lambda point: -point.x):
        side = next((side for side in free if free[side] - point.x >= LABEL * width), max(free, key=free.__getitem__))
        free[side] = point.x
        text = axes.annotate(
            f"{point.group.penalty:g}",
            (point.x, point.bleu.high if side == "above" else point.bleu.low),
            xytext=(0, 3 if side == "above" else -3),
            textcoords="offset points",
            ha="center",
            va="bottom" if side == "above" else "top",
            fontsize=6,
            color=_look(point.group).colour,
        )
        text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])


def _lookup(axes: Axes, lookup: Group) -> None:
    """Mention the lookup baseline: as a line where it is in view, else as a remark."""
    value = lookup.bleu()
    assert value is not None
    text = f"copying the nearest training sentence: {value.centre:.1f} BLEU"
    low, _ = axes.get_ylim()
    if value.centre > low:
        axes.axhline(value.centre, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate(text, (0.02, 0.02), xycoords="axes fraction", fontsize=6, color=GREY, ha="left", va="bottom")


def _handles(dense: Group | None, shown: Sequence[Group]) -> list[Line2D]:
    handles = []
    points = Counter(map(_series, shown))
    looks = {_series(group): _look(group) for group in shown}
    if dense is not None:
        style = look("baseline")
        handles.append(
            Line2D([], [], color=style.colour, marker=style.marker, linestyle=(0, (4, 2)), label=style.label)
        )
    for series, style in looks.items():
        label = f"{style.label}, with their λ" if series == ("l0", SOFTMAX) else style.label
        width = 0.9 if points[series] > 1 else 0
        handles.append(Line2D([], [], color=style.colour, marker=style.marker, linewidth=width, label=label))
    return handles
