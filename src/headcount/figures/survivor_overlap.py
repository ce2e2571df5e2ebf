"""Which heads two models have in common, between seeds and between ways to choose, against what chance gives.

Chance is the hypergeometric expectation: of two random sets of heads, and of two random sets with as many heads in
every layer as the models have. Between seeds only the latter means anything: before training, the heads of a layer are
exchangeable. How far the numbers of heads in each layer agree is drawn beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from headcount.figures.curves import filled
from headcount.figures.equal_heads import Arm, Contest, contests
from headcount.figures.groups import Value, over_seeds, read
from headcount.figures.style import GREY, PAGE_INCHES, nothing_to_draw, panel_title, paper_style, save
from headcount.heads import Head

LINE_INCHES = 0.17
AROUND_INCHES = 0.62
LEGEND_INCHES = 0.45
MOST = 3
"""Most numbers of heads side by side."""

CHOOSE = (
    *("ticket", "ticket-michel", "ticket-per_layer", "ticket-from_start", "ticket-random", "ticket-inverse"),
    *("l0", "subset", "ranked-one_shot", "ranked-iterative"),
)
"""Arms that choose heads of their own; to rewind the rate is no other choice than one shot."""


@dataclass(frozen=True)
class Overlap:
    """How much two sets of heads share, as a share of their size, and what would be expected."""

    found: float
    by_chance: float
    by_layers: float
    """By chance, were only the numbers of heads in each layer those of the models."""
    layers: float
    """Upper bound: as much as the numbers of heads in each layer agree."""


def overlap(one: frozenset[Head], two: frozenset[Head], every: frozenset[Head]) -> Overlap:
    """Compare two sets of heads of a model with the heads `every`."""
    size = (len(one) + len(two)) / 2
    if not size:
        return Overlap(1.0, 1.0, 1.0, 1.0)
    a, b, full = (Counter((kind, layer) for kind, layer, _ in heads) for heads in (one, two, every))
    return Overlap(
        found=len(one & two) / size,
        by_chance=len(one) * len(two) / len(every) / size,
        by_layers=sum(a[layer] * b[layer] / full[layer] for layer in full) / size,
        layers=sum(min(a[layer], b[layer]) for layer in full) / size,
    )


@dataclass(frozen=True)
class Line:
    """One line of a panel: an arm, and its overlaps with itself in other seeds or with the ticket of the same seed."""

    arm: Arm
    overlaps: Sequence[Overlap]

    def value(self, name: str) -> Value:
        """Return mean and spread of one of the numbers of `Overlap`."""
        value = over_seeds(pd.Series([getattr(one, name) for one in self.overlaps]))
        assert value is not None
        return value


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `heads.csv` and `curves.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(*(read(tables, name) for name in ("runs", "heads", "curves"))), out)


def kept_heads(contest: Contest, heads: pd.DataFrame) -> dict[str, frozenset[Head]]:
    """Return the heads of the contest's scope that each run keeps; of the dense model all."""
    of = heads[(heads["kept"] == 1) & (heads["corpus"] == contest.corpus) & (heads["method"] != "smaller")]
    if contest.scope != "all":
        of = of[of["attention"] == contest.scope]
    return {
        str(run): frozenset(table[["attention", "layer", "head"]].itertuples(index=False, name=None))
        for run, table in of.groupby("run")
    }


def blocks(contest: Contest, size: int, kept: Mapping[str, frozenset[Head]]) -> dict[str, list[Line]]:
    """Return the lines of a number of heads: between seeds, and against the ticket of the same seed."""
    everything = frozenset().union(*kept.values())
    arms = [arm for arm in contest.arms(CHOOSE) if size in arm.models]
    chosen = {arm.name: _by_seed(arm, size, kept) for arm in arms}
    ticket = chosen.get("ticket", {})
    found: dict[str, list[Line]] = {"between seeds": [], "with the ticket, same seed": []}
    for arm in arms:
        of = chosen[arm.name]
        between = [overlap(of[one], of[two], everything) for one, two in combinations(sorted(of), 2)]
        found["between seeds"].append(Line(arm, between))
        if arm.name != "ticket":
            with_ticket = [overlap(of[seed], ticket[seed], everything) for seed in sorted(of) if seed in ticket]
            found["with the ticket, same seed"].append(Line(arm, with_ticket))
    return {title: [line for line in lines if line.overlaps] for title, lines in found.items()}


def _by_seed(arm: Arm, size: int, kept: Mapping[str, frozenset[Head]]) -> dict[int, frozenset[Head]]:
    rows = arm.models[size].rows
    return {int(seed): kept.get(run, frozenset()) for seed, run in zip(rows["seed"], rows["run"], strict=True)}


Panel = tuple[str, dict[str, list[Line]]]
"""Title and blocks of one number of heads."""


def _rows(runs: pd.DataFrame, heads: pd.DataFrame, curves: pd.DataFrame) -> Iterator[list[Panel]]:
    """Yield the rows of panels; each contest begins a new one."""
    for contest in contests(runs, curves):
        kept = kept_heads(contest, heads)
        sizes = {size: blocks(contest, size, kept) for size in contest.sizes}
        panels = [
            (contest.titled(f"{size} of {contest.every} {contest.heads}", runs), found)
            for size, found in sizes.items()
            if any(found.values())
        ]
        yield from (panels[first : first + MOST] for first in range(0, len(panels), MOST))


def _figure(runs: pd.DataFrame, heads: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    rows = list(_rows(runs, heads, curves))
    if not rows:
        return nothing_to_draw("no two models chose as many heads")
    columns = max(map(len, rows))
    names = [_names(row) for row in rows]
    heights = [LINE_INCHES * len(lines) + AROUND_INCHES for lines in names]
    figure = Figure(figsize=(PAGE_INCHES, sum(heights) + LEGEND_INCHES), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False, sharey="row", height_ratios=heights)
    for line, row, listed in zip(grid, rows, names, strict=True):
        for axes, (title, found) in filled(line, row):
            _panel(axes, found, listed)
            panel_title(axes, title)
        _name_lines(line[0], listed)
    figure.legend(handles=_handles(), loc="outside lower center", ncols=2)
    return figure


def _names(row: Sequence[Panel]) -> list[tuple[str, Arm | None]]:
    """Return the lines of the panels of a row: of each block its heading, which has no arm, and its arms."""
    listed: list[tuple[str, Arm | None]] = []
    for title in row[0][1]:
        arms = {line.arm.name: line.arm for _, found in row for line in found[title]}
        if arms:
            listed += [(title, None), *((title, arms[name]) for name in CHOOSE if name in arms)]
    return listed


def _name_lines(axes: Axes, listed: Sequence[tuple[str, Arm | None]]) -> None:
    names = [arm.label if arm else title for title, arm in listed]
    axes.set_yticks(range(len(listed)), names)
    axes.set_ylim(len(listed) - 0.4, -0.6)
    for label, (_, arm) in zip(axes.get_yticklabels(), listed, strict=True):
        label.set_fontweight("normal" if arm else "bold")


def _panel(axes: Axes, found: Mapping[str, Sequence[Line]], listed: Sequence[tuple[str, Arm | None]]) -> None:
    places = {(title, arm.name): place for place, (title, arm) in enumerate(listed) if arm}
    chance = [one.by_chance for lines in found.values() for line in lines for one in line.overlaps]
    axes.axvline(sum(chance) / len(chance), color=GREY, linewidth=0.8, linestyle=CHANCE)
    for title, lines in found.items():
        for line in lines:
            place = places[title, line.arm.name]
            value, style = line.value("found"), line.arm.look
            error = [[end] for end in value.error]
            axes.errorbar(value.centre, place, xerr=error, color=style.colour, marker="o", elinewidth=0.9, zorder=3)
            axes.plot(line.value("by_layers").centre, place, **BY_LAYERS)
            axes.plot(line.value("layers").centre, place, **LAYERS)
    axes.set_xlim(-0.03, 1.03)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("heads in common")
    axes.grid(axis="x")


CHANCE = (0, (4, 2))
BY_LAYERS: dict[str, Any] = {"color": "black", "marker": "|", "markersize": 8, "linestyle": "none", "zorder": 2}
LAYERS: dict[str, Any] = {
    **{"color": GREY, "marker": "D", "markerfacecolor": "white", "markersize": 3.5},
    **{"linestyle": "none", "zorder": 2},
}


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color="black", marker="o", label="heads in common, mean and standard deviation"),
        Line2D([], [], color=GREY, linewidth=0.8, linestyle=CHANCE, label="by chance"),
        Line2D([], [], **BY_LAYERS, label="by chance, with these numbers of heads in each layer"),
        Line2D([], [], **LAYERS, label="agreement of the numbers of heads in each layer"),
    ]
