"""Speed-up of decoding by the heads that are left, beam by beam and batch by batch (behnke2020, speed).

Lines are the ceiling: the speed-up if time went into matrix products alone. At an equal number of heads it depends on
which layers they are in, since the encoder reads a sentence once and the decoder runs once for each hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.groups import SOFTMAX, Group, Value, main_corpus, note, over_seeds, read, tried
from headcount.figures.style import GREY, PAGE_INCHES, Stroke, look, nothing_to_draw, panel_title, paper_style, save

PANEL_INCHES = 2.3
LEGEND_INCHES = 0.45
SINGLE_INCHES = 4.4
"""Width of a figure with one panel."""

DODGE = 0.011
"""Distance of points with equally many heads, as a share of the axis."""

CEILINGS: dict[str, tuple[str, Stroke]] = {
    "all": ("ceiling of matrix products", (0, (4, 2))),
    "encoder": ("ceiling, encoder heads only", (0, (1, 1.2))),
}
"""Where heads were removed → name and stroke of the ceiling."""

DENSE, SMALLER = "baseline", "smaller"


@dataclass(frozen=True)
class Condition:
    """A beam and a number of sentences that are decoded together, with the rows of `speeds.csv`."""

    beam: int
    sentences_per_batch: int
    rows: pd.DataFrame

    @property
    def search(self) -> str:
        """How the beam is called."""
        return "greedy" if self.beam == 1 else f"beam {self.beam}"

    @property
    def label(self) -> str:
        """How tables and panels call the condition."""
        return f"{self.search}, batch {self.sentences_per_batch}"

    def value(self, group: Group, column: str) -> Value | None:
        """Return mean and spread of a column over the seeds of a group."""
        return over_seeds(self.rows.loc[self.rows["run"].isin(group.rows["run"]), column])


def conditions(speeds: pd.DataFrame) -> list[Condition]:
    """Return what was timed, greedy search and single sentences first."""
    known = speeds.dropna(subset=["beam", "sentences_per_batch"]).astype({"beam": int, "sentences_per_batch": int})
    pairs = sorted(set(zip(known["beam"], known["sentences_per_batch"], strict=True)))
    return [
        Condition(beam, batch, known[(known["beam"] == beam) & (known["sentences_per_batch"] == batch)])
        for beam, batch in pairs
    ]


def timed(runs: pd.DataFrame, speeds: pd.DataFrame, corpus: str) -> list[Group]:
    """Return the models of softmax attention that were timed themselves; others share the time of their structure."""
    own = speeds.loc[speeds["timed_run"] == speeds["run"], "run"]
    found = [group for group in tried(runs) if (group.corpus, group.normaliser) == (corpus, SOFTMAX)]
    return [group for group in found if group.rows["run"].isin(own).any()]


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `speeds.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "speeds")), out)


def _figure(runs: pd.DataFrame, speeds: pd.DataFrame) -> Figure:
    corpus = main_corpus(runs)
    shown = [group for group in timed(runs, speeds, corpus) if group.method != SMALLER]
    every = [condition for condition in conditions(speeds) if shown]
    if not any(group.method != DENSE for group in shown) or not every:
        return nothing_to_draw("no pruned model was timed")
    beams, batches = ({getattr(one, name) for one in every} for name in ("beam", "sentences_per_batch"))
    size = (SINGLE_INCHES if len(batches) == 1 else PAGE_INCHES, PANEL_INCHES * len(beams) + LEGEND_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(beams), len(batches), sharex=True, sharey=True, squeeze=False)
    most = max(heads.centre for group in shown if (heads := group.value("heads")))
    for axes, condition in zip(grid.flat, every, strict=True):
        _panel(axes, shown, condition, most)
        panel_title(axes, condition.label)
    panel_title(grid[0, 0], every[0].label + note(runs, corpus))
    for axes in grid[:, 0]:
        axes.set_ylabel("speed-up over the dense model")
    for axes in grid[-1]:
        axes.set_xlabel(f"heads kept (of {most:.0f})")
    figure.legend(handles=_handles(shown), loc="outside lower center", ncols=3 if len(batches) > 1 else 2)
    return figure


def _panel(axes: Axes, shown: Sequence[Group], condition: Condition, most: float) -> None:
    places = {
        id(group): heads.centre for group in shown if (heads := group.value("heads")) and condition.value(group, "low")
    }
    for scope, (_, stroke) in CEILINGS.items():
        _ceiling(axes, [group for group in shown if _scope(group) in (scope, DENSE)], condition, places, stroke)
    axes.axhline(1, color=look(DENSE).colour, linewidth=0.6, zorder=1)
    for group, shift in _side_by_side(shown, places, most):
        speedup = condition.value(group, "speedup")
        if speedup is None:
            continue
        axes.errorbar(
            places[id(group)] + shift,
            speedup.centre,
            yerr=np.transpose([speedup.error]),
            elinewidth=0.7,
            zorder=3,
            **_point(group.method, _scope(group)),
        )
    axes.set_xlim(1.06 * most, -0.06 * most)
    axes.set_xticks(sorted({round(most * share / 4) for share in range(5)}))
    axes.margins(y=0.1)
    axes.grid(axis="y")


def _point(method: str, scope: str) -> dict[str, Any]:
    """Return the look of a point, hollow where only encoder heads were removed."""
    style, hollow = look(method), scope == "encoder"
    return {
        "color": style.colour,
        "marker": style.marker,
        "markersize": 4.5,
        "markerfacecolor": "white" if hollow else style.colour,
        "markeredgecolor": style.colour if hollow else "white",
        "markeredgewidth": 0.9 if hollow else 0.4,
    }


def _scope(group: Group) -> str:
    """Return where heads were removed, a key of `CEILINGS`, or that none were."""
    return DENSE if group.method == DENSE else "encoder" if group.scope == "encoder" else "all"


def _ceiling(
    axes: Axes, groups: Sequence[Group], condition: Condition, places: Mapping[int, float], stroke: Stroke
) -> None:
    """Draw the mean ceiling of the models with equally many heads, and the range of theirs."""
    found: dict[float, list[float]] = {}
    for group in groups:
        value = condition.value(group, "ceiling")
        if value is not None:
            found.setdefault(places[id(group)], []).append(value.centre)
    if len(found) < 2:
        return
    x = sorted(found)
    axes.plot(x, [np.mean(found[place]) for place in x], color=GREY, linestyle=stroke, linewidth=1, zorder=2)
    low, high = ([edge(found[place]) for place in x] for edge in (min, max))
    axes.fill_between(x, low, high, color=GREY, alpha=0.15, linewidth=0, zorder=0)


def _side_by_side(shown: Sequence[Group], places: Mapping[int, float], most: float) -> list[tuple[Group, float]]:
    """Return each group and how far it is moved off the others with equally many heads."""
    at: dict[float, list[Group]] = {}
    for group in shown:
        if id(group) in places:
            at.setdefault(places[id(group)], []).append(group)
    return [
        (group, ((len(neighbours) - 1) / 2 - rank) * DODGE * most)  # the axis runs to the left
        for neighbours in at.values()
        for rank, group in enumerate(neighbours)
    ]


def _handles(shown: Sequence[Group]) -> list[Line2D]:
    handles = []
    for method, scope in dict.fromkeys((group.method, _scope(group)) for group in shown):
        label = look(method).label + (", encoder heads only" if scope == "encoder" else "")
        handles.append(Line2D([], [], linestyle="none", label=label, **_point(method, scope)))
    scopes = {_scope(group) for group in shown}
    for scope, (label, stroke) in CEILINGS.items():
        if scope in scopes:
            handles.append(Line2D([], [], color=GREY, linestyle=stroke, linewidth=1, label=label))
    return handles
