"""Which functions the heads have that pruning the encoder leaves (voita2019, figure 8).

A row of panels for each corpus whose encoder was pruned. One column for each encoder L0 model, from all heads on the
left to few: numbers of heads by function, as measured in the pruned model itself, means over the seeds. Random removal
is the null: of the N heads of the dense model K have a function, so n heads drawn at random have nK/N on average, with
the hypergeometric spread. Beside it the same as shares, where the paper's model with its 48 heads can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headcount.figures.groups import SOFTMAX, Group, corpora, groups, note, paper_numbers, read
from headcount.figures.style import (
    PAGE_INCHES,
    PAPER,
    ROLE_LABELS,
    ROLES,
    kind_of,
    look,
    nothing_to_draw,
    panel_title,
    paper_style,
    save,
)

ROW_INCHES, LEGEND_INCHES = 2.3, 0.6
"""Heights of a row of panels and of what is below them."""

ROOM = 6
"""Columns that a panel has room for at least, so that few models do not make wide columns."""

UPRIGHT = 13
"""Most columns with upright labels."""

NORMAL = 1.96
"""Quantile of a 95 % interval."""


@dataclass(frozen=True)
class Column:
    """Models of one setting: numbers of encoder heads by kind of function, means over the seeds.

    Attributes:
        label: what stands below the number of heads.
        kinds: number of heads of each kind, keys as in `style.ROLES`.
        expected: heads with a function after random removal, on average.
        spread: their standard deviation.
        drawn: heads with a function that random removal and fine-tuning did leave, of each such run.

    """

    label: str
    kinds: dict[str, float]
    expected: float
    spread: float
    drawn: tuple[float, ...]

    @property
    def heads(self) -> float:
        """Number of heads."""
        return sum(self.kinds.values())

    @property
    def named(self) -> float:
        """Number of heads with a function."""
        return self.heads - self.kinds["unnamed"]


def draw(tables: Path, out: Path) -> None:
    """Read `runs`, `heads` and `roles` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        runs, heads, roles = (read(tables, name) for name in ("runs", "heads", "roles"))
        save(_figure(runs, heads, roles, paper_numbers(tables, "voita2019", "figure8")), out)


def _figure(runs: pd.DataFrame, heads: pd.DataFrame, roles: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    counts = kinds(heads, roles)
    of_corpus = {corpus: _columns(runs[runs["corpus"] == corpus], counts) for corpus in corpora(runs)}
    pruned = {corpus: columns for corpus, columns in of_corpus.items() if len(columns) > 1}
    if not pruned:
        return nothing_to_draw("no encoder L0 model had its heads named")
    figure = Figure(figsize=(PAGE_INCHES, LEGEND_INCHES + ROW_INCHES * len(pruned)), layout="constrained")
    panels = figure.subplots(len(pruned), 2, width_ratios=(1.75, 1), squeeze=False)
    for (left, right), (corpus, columns) in zip(panels, pruned.items(), strict=True):
        _stacks(left, columns)
        _shares(right, columns, paper)
        panel_title(left, f"heads left by their function{note(runs, corpus)}")
        panel_title(right, "share with a function")
    everything = [column for columns in pruned.values() for column in columns]
    figure.legend(handles=_handles(everything, paper), loc="outside lower center", ncols=5)
    return figure


def kinds(heads: pd.DataFrame, roles: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Count the kept encoder heads of each run whose roles were measured, by kind of function."""
    measured = set(roles["run"])
    kept = heads[(heads["attention"] == "encoder") & (heads["kept"] == 1) & heads["run"].isin(measured)]
    named = roles[(roles["attention"] == "encoder") & (roles["labels"] == "gold") & (roles["named"] == 1)]
    of_head = named.groupby(["run", "layer", "head"])["kind"].agg(lambda found: kind_of(set(found))).rename("what")
    joined = kept.join(of_head, on=["run", "layer", "head"])["what"].fillna("unnamed")
    counts = pd.crosstab(kept["run"], joined).reindex(index=sorted(measured), columns=list(ROLES), fill_value=0)
    return {str(run): {kind: float(row[kind]) for kind in ROLES} for run, row in counts.iterrows()}


def _columns(runs: pd.DataFrame, counts: dict[str, dict[str, float]]) -> list[Column]:
    """Return the dense model, then its pruned ones with ever fewer heads; λ = 0, the control, prunes nothing."""
    measured = [group for group in groups(runs[runs["run"].isin(list(counts))]) if group.normaliser == SOFTMAX]
    dense = {seed: counts[run] for group in measured if group.method == "baseline" for seed, run in _runs(group)}
    random = {group.setting: group for group in measured if group.method == "random" and group.scope == "encoder"}
    columns = []
    for group in measured:
        pruned = group.method == "l0" and group.scope == "encoder" and group.penalty != 0
        runs_of_group = [(dense[seed], counts[run]) for seed, run in _runs(group) if seed in dense]
        if not (pruned or group.method == "baseline") or not runs_of_group:
            continue
        nulls = [_null(whole, sum(left.values())) for whole, left in runs_of_group]
        twin = random.get(group.setting) if pruned else None
        columns.append(
            Column(
                label="dense" if not pruned else f"{group.penalty:g}" if group.penalty > 0 else "set",
                kinds={kind: float(np.mean([left[kind] for _, left in runs_of_group])) for kind in ROLES},
                expected=float(np.mean([mean for mean, _ in nulls])),
                spread=float(np.mean([spread for _, spread in nulls])),
                drawn=tuple(_named(counts[run]) for _, run in _runs(twin)) if twin else (),
            )
        )
    return sorted(columns, key=lambda column: (column.label != "dense", -column.heads))


def _runs(group: Group) -> list[tuple[int, str]]:
    return [(int(seed), str(run)) for seed, run in zip(group.rows["seed"], group.rows["run"], strict=True)]


def _named(counts: dict[str, float]) -> float:
    return sum(counts.values()) - counts["unnamed"]


def _null(dense: dict[str, float], kept: float) -> tuple[float, float]:
    """Return mean and standard deviation of the named heads among `kept` ones drawn at random (hypergeometric)."""
    heads = sum(dense.values())
    share = _named(dense) / heads
    left_out = (heads - kept) / max(1.0, heads - 1)
    return kept * share, float(np.sqrt(kept * share * (1 - share) * left_out))


def _stacks(axes: Axes, columns: list[Column]) -> None:
    """Stack the kinds of each model; at its right the number of heads with a function after random removal."""
    tallest = columns[0].heads
    for x, column in enumerate(columns):
        bottom = 0.0
        for kind, colour in ROLES.items():
            count = column.kinds[kind]
            axes.bar(x - 0.1, count, bottom=bottom, width=0.62, color=colour, edgecolor="white", linewidth=0.5)
            if count > 0.045 * tallest:
                text = _digits(count)
                axes.text(x - 0.1, bottom + count / 2, text, ha="center", va="center_baseline", fontsize=5.5)
            bottom += count
        if x > 0:
            axes.plot([x + 0.24, x + 0.48], [column.expected] * 2, color="black", linewidth=1.3)
            low = min(column.expected, NORMAL * column.spread)
            axes.errorbar(x + 0.36, column.expected, [[low], [NORMAL * column.spread]], color="black", elinewidth=0.7)
        axes.plot([x + 0.36] * len(column.drawn), column.drawn, **_random())
    labels = [f"{_digits(column.heads)}\n{column.label}" for column in columns]
    axes.set_xticks(range(len(columns)), labels, fontsize=6, rotation=90 if len(columns) > UPRIGHT else 0)
    axes.set_xlim(-0.7, max(len(columns), ROOM) - 0.3)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("encoder heads kept; below: λ, or “set” where their number was given")
    axes.set_ylabel("encoder heads")
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))


def _digits(count: float) -> str:
    return f"{count:.1f}".removesuffix(".0")


def _shares(axes: Axes, columns: list[Column], paper: pd.DataFrame) -> None:
    """Draw the share of heads with a function, and the band in which random removal leaves it."""
    everything = columns[0].heads
    some = [column for column in columns if column.heads > 0]
    axes.plot(
        [column.heads / everything for column in some],
        [column.named / column.heads for column in some],
        color=look("l0").colour,
        marker=look("l0").marker,
        zorder=3,
    )
    for column in some:
        share = [drawn / column.heads for drawn in column.drawn]
        axes.plot([column.heads / everything] * len(share), share, **_random())
    kept = np.arange(1, round(everything) + 1)
    means, spreads = np.array([_null(columns[0].kinds, float(number)) for number in kept]).T
    axes.plot(kept / everything, means / kept, color="black", linewidth=1.3)
    low, high = (np.clip((means + side * NORMAL * spreads) / kept, 0, 1) for side in (-1, 1))
    axes.fill_between(kept / everything, low, high, color="black", alpha=0.08, linewidth=0)
    if not paper.empty:
        counts = paper.assign(x=pd.to_numeric(paper["x"])).pivot(index="x", columns="series", values="y")[list(ROLES)]
        total = counts.sum(axis=1)
        axes.plot(
            counts.index / counts.index.max(), 1 - counts["unnamed"] / total, color=PAPER, marker="D", markersize=3
        )
    axes.set_xlim(1.04, -0.04)
    axes.set_ylim(0, 1.04)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("encoder heads kept")
    axes.grid()


def _random() -> dict[str, Any]:
    style = look("random")
    return {
        "color": style.colour,
        "marker": style.marker,
        "markersize": 4.5,
        "markeredgecolor": "black",
        "markeredgewidth": 0.4,
        "linestyle": "none",
        "zorder": 4,
    }


def _handles(columns: list[Column], paper: pd.DataFrame) -> list[Artist]:
    handles: list[Artist] = [
        Patch(color=colour, label=ROLE_LABELS[kind])
        for kind, colour in ROLES.items()
        if any(column.kinds[kind] for column in columns)
    ]
    handles.append(Line2D([], [], color=look("l0").colour, marker=look("l0").marker, label="pruned (L0)"))
    handles.append(Line2D([], [], color="black", linewidth=1.3, label="random removal, expected"))
    if any(column.drawn for column in columns):
        handles.append(Line2D([], [], label="random removal, trained", **_random()))
    if not paper.empty:
        handles.append(Line2D([], [], color=PAPER, marker="D", markersize=3, label="paper (48 heads)"))
    return handles
