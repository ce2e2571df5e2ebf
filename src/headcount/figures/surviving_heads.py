"""Which heads survive: a map of layers and heads for each attention type (columns) and run (rows), main corpus."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap
from matplotlib.figure import Figure

from headcount.figures.groups import SOFTMAX, Group, main_corpus, note, of_main, read, tried
from headcount.figures.style import (
    ATTENTION_LABELS,
    GREY,
    PAGE_INCHES,
    PALE,
    look,
    nothing_to_draw,
    paper_style,
    save,
    shades,
)

LAYER_INCHES = 0.13
ROW_INCHES = 0.6
"""Largest height of a row; deep models get flatter layers."""

GAP_INCHES = 0.23
TOP_INCHES = 0.42
BOTTOM_INCHES = 0.38
LEFT_INCHES = 1.3
RIGHT_INCHES = 0.2

SCOPES = {"encoder": "encoder", "all": "all heads"}


@dataclass(frozen=True)
class Row:
    """One row of maps: how many rounds each [layer, head] of an attention type survived, of `rounds` in all."""

    name: str
    colours: Colormap
    survived: dict[str, npt.NDArray[np.int_]]
    rounds: int
    frozen: bool


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `heads.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "heads")), out)


def _figure(runs: pd.DataFrame, heads: pd.DataFrame) -> Figure:
    remark = note(runs, main_corpus(runs))
    runs, heads = of_main(runs, runs), of_main(runs, heads)
    pruned = runs[runs["method"].isin(["l0", "round", "ticket"]) & ~(runs["penalty"] == 0)]
    seed = pruned["seed"].min()
    rows = _rows(shown(pruned[pruned["seed"] == seed]), heads)
    if not rows:
        return nothing_to_draw("this study has no pruned run")
    kinds = [kind for kind in ATTENTION_LABELS if kind in set(heads["attention"])]
    layers = int(heads["layer"].max()) + 1
    row_inches = min(layers * LAYER_INCHES, ROW_INCHES)
    height = TOP_INCHES + BOTTOM_INCHES + len(rows) * (row_inches + GAP_INCHES) - GAP_INCHES
    figure = Figure(figsize=(PAGE_INCHES, height))
    grid = figure.add_gridspec(
        len(rows),
        len(kinds),
        left=LEFT_INCHES / PAGE_INCHES,
        right=1 - RIGHT_INCHES / PAGE_INCHES,
        top=1 - TOP_INCHES / height,
        bottom=BOTTOM_INCHES / height,
        hspace=GAP_INCHES / row_inches,
        wspace=0.16,
    )
    for number, row in enumerate(rows):
        for column, kind in enumerate(kinds):
            axes = figure.add_subplot(grid[number, column])
            _map(axes, row, kind)
            if number == 0:
                axes.annotate(
                    ATTENTION_LABELS[kind],
                    (0.5, 1),
                    (0, 14),
                    xycoords="axes fraction",
                    textcoords="offset points",
                    ha="center",
                    weight="bold",
                )
            if column == 0:
                axes.set_ylabel("layer", fontsize=6, labelpad=2)
                axes.annotate(row.name, (-0.17, 0.5), xycoords="axes fraction", ha="right", va="center")
            if number == len(rows) - 1:
                axes.set_xlabel("head", fontsize=6, labelpad=2)
            else:
                axes.set_xticklabels([])
    remarks = [remark.removeprefix(", "), f"seed {seed:.0f}" if runs["seed"].nunique() > 1 else ""]
    figure.text(0.01, 1 - 0.12 / height, "\n".join(filter(None, remarks)), color=GREY, va="top")
    return figure


def shown(runs: pd.DataFrame) -> list[Group]:
    """Return the models of the main settings, and the rounds of all variants of the lottery."""
    return [group for group in tried(runs) if group.method == "round" or not group.variant]


def _rows(found: list[Group], heads: pd.DataFrame) -> list[Row]:
    maps = {run: _maps(table) for run, table in heads.groupby("run")}
    rows = []
    rounds = defaultdict(list)
    for group in found:
        if group.method == "round":
            rounds[group.normaliser, group.variant].append(group.first_run)
            continue
        colours = ListedColormap([PALE, look(group.method).colour])
        rows.append(Row(_name(group), colours, maps[group.first_run], 1, group.scope == "encoder"))
    for (normaliser, variant), names in rounds.items():
        survived = {kind: np.sum([maps[run][kind] for run in names], axis=0) for kind in maps[names[0]]}
        name = f"lottery{', ' * bool(variant)}{variant}:\nround of removal{_of(normaliser)}".replace("_", " ")
        rows.append(Row(name, shades(look("round").colour), survived, len(names), frozen=False))
    return rows


def _name(group: Group) -> str:
    if group.method == "l0":
        return f"L0, {SCOPES[group.scope]}\n{group.label}{_of(group.normaliser)}"
    setting = group.setting.replace(" encoder", "\nencoder")  # too long for the margin
    return f"{look(group.method).label}\n{setting}{_of(group.normaliser)}"


def _of(normaliser: str) -> str:
    """Name what was pruned on a line of its own, unless it is softmax."""
    return "" if normaliser == SOFTMAX else f"\n{look(normaliser).label}"


def _maps(table: pd.DataFrame) -> dict[str, npt.NDArray[np.int_]]:
    """Return 1 for each kept head of a run, by attention type, [layer, head]."""
    return {
        str(kind): rows.pivot(index="layer", columns="head", values="kept").to_numpy(dtype=int)
        for kind, rows in table.groupby("attention")
    }


def _map(axes: Axes, row: Row, kind: str) -> None:
    survived = row.survived[kind]
    layers, heads = survived.shape
    untouched = row.frozen and kind != "encoder"
    axes.pcolormesh(
        survived / row.rounds,
        cmap=row.colours,
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=0.8,
        alpha=0.3 if untouched else None,
    )
    if row.rounds > 1:
        for layer, head in np.argwhere(survived < row.rounds):
            dark = survived[layer, head] > 0.6 * row.rounds
            axes.text(
                head + 0.5,
                layer + 0.46,
                str(survived[layer, head] + 1),
                ha="center",
                va="center",
                fontsize=5,
                color="white" if dark else "black",
            )
    kept = survived == row.rounds
    for layer in range(layers):
        axes.text(heads + 0.15, layer + 0.46, str(kept[layer].sum()), va="center", fontsize=5.5, color=GREY)
    remark = " (frozen)" if untouched else ""
    axes.set_title(f"{kept.sum()} of {kept.size} kept{remark}", loc="right", fontsize=6, pad=2, color=GREY)
    axes.set_yticks(np.arange(layers) + 0.5, [str(layer + 1) for layer in range(layers)])
    axes.set_xticks(np.arange(heads) + 0.5, [str(head + 1) for head in range(heads)])
    axes.tick_params(length=0, pad=1.5, labelsize=5.5)
    for spine in axes.spines.values():
        spine.set_visible(False)
