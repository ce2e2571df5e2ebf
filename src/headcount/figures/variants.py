"""The attention variants that correia2019 compares, and what its figures share: panels and the paper's numbers.

A variant is a dense model by the normaliser of its attention; figures list those that a study has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headcount.figures.groups import PRUNED, in_order, note, paper_numbers
from headcount.figures.style import ATTENTION_LABELS, GREY, PAGE_INCHES, PAPER, look

SOFTMAX = "baseline"
LEARNED = "entmax_alpha"
"""Methods: softmax attention, and entmax with a learned α for each head."""

IN_PAPER = {SOFTMAX: "softmax", "entmax15": "1.5-entmax", LEARNED: "alpha-entmax"}
"""Names of the methods in the paper's numbers."""

PAPER_LINE: dict[str, Any] = {
    "color": PAPER,
    "linewidth": 0.9,
    "linestyle": (0, (3, 2)),
    "marker": ".",
    "markersize": 3,
}
"""How a curve of the paper is drawn."""

LETTER_POINTS = 6.0
LINE_POINTS = 8.0
"""Size and distance of the lines above a panel."""


def dense(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the models that were trained with all heads."""
    return runs[~runs["method"].isin([*PRUNED, "lookup"])]


def first_seed(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the row of the lowest seed for each corpus and method."""
    return runs.sort_values("seed", kind="stable").drop_duplicates(["corpus", "method"])


def of_runs(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that belong to some runs."""
    return table[table["run"].isin(runs["run"])]


def variants(table: pd.DataFrame) -> list[str]:
    """Return the methods of a table in the order of legends."""
    return in_order(map(str, table["method"].unique()))


def best(heads: pd.DataFrame) -> pd.Series:
    """Return the row with the largest value."""
    return heads.nlargest(1, "value").iloc[0]


def label(method: str) -> str:
    """Return how a variant is called beside others, where softmax is one of several."""
    return IN_PAPER[SOFTMAX] if method == SOFTMAX else look(method).label


def numbers(tables: Path, item: str) -> pd.DataFrame:
    """Return what the paper prints in a table or figure."""
    return paper_numbers(tables, "correia2019", item)


def printed(paper: pd.DataFrame, series: str) -> dict[str, float]:
    """Return the numbers of one series by their x."""
    rows = paper[paper["series"] == series]
    return dict(zip(rows["x"].astype(str), rows["y"].astype(float), strict=True))


def panels(
    rows: Sequence[str], *, row_inches: float, around_inches: float, remark: str = "", lines: int = 2
) -> tuple[Figure, npt.NDArray[Any]]:
    """Return a figure and its panels: a line for each of `rows`, named on the left, a column for each attention type.

    Args:
        rows: names; an empty one is not shown.
        row_inches: height of a line.
        around_inches: height of titles, labels and legend.
        remark: what is drawn, said above all.
        lines: of remarks above each panel.

    """
    figure = Figure(figsize=(PAGE_INCHES, row_inches * len(rows) + around_inches), layout="constrained")
    grid = figure.subplots(len(rows), len(ATTENTION_LABELS), sharex=True, sharey=True, squeeze=False)
    for line, row in zip(grid, rows, strict=True):
        if row:
            middle: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "rotation": 90}
            line[0].annotate(row, (0, 0.5), (-38, 0), ha="right", va="center", weight="bold", **middle)
    for axes, name in zip(grid[0], ATTENTION_LABELS.values(), strict=True):
        axes.set_title(name, weight="bold", pad=4 + LINE_POINTS * lines)
    if remark:
        figure.suptitle(remark, x=0.01, ha="left", fontsize=7, color=GREY)
    return figure, grid


def remarks(axes: Axes, *lines: str, colours: Sequence[str] = ()) -> None:
    """Write lines above a panel in the given colours, else in black, and those of the paper in grey."""
    chosen = colours or [PAPER if text.startswith("paper") else "black" for text in lines]
    for place, (text, colour) in enumerate(zip(reversed(lines), reversed(chosen), strict=True)):
        rise = 2 + LINE_POINTS * place
        looks: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(text, (0, 1), (0, rise), fontsize=LETTER_POINTS, color=colour, **looks)


def drawn(runs: pd.DataFrame, models: pd.DataFrame) -> str:
    """Return which corpus and seed is drawn, as far as the study has several; `models` are of one corpus."""
    corpus = note(runs, str(models["corpus"].iloc[0])).removeprefix(", ")
    seed = f"seed {models['seed'].min():.0f}" if runs["seed"].nunique() > 1 else ""
    return ", ".join(filter(None, (corpus, seed)))


def with_alpha(heads: pd.DataFrame, measures: pd.DataFrame) -> pd.DataFrame:
    """Return the heads' rows with a column `alpha`, fixed or learned, according to `observations.csv`; else NaN."""
    keys = ["run", "attention", "layer", "head"]
    alpha = measures.loc[measures["measure"] == "alpha", [*keys, "value"]].rename(columns={"value": "alpha"})
    return heads.merge(alpha.astype({"head": heads["head"].dtype}), on=keys, how="left")
