"""Whether heads keep their rank from round to round: Spearman's ρ of the scores of neighbouring lottery rounds.

On the left all heads that both rounds have, on the right their ranks within a layer, since layers may differ in score
without a word on single heads. A curve for each variant of the lottery, a row for each corpus.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headcount.figures.curves import curve, handle, shifts, thinned
from headcount.figures.equal_heads import WAYS
from headcount.figures.groups import Value, corpora, note, over_seeds, read
from headcount.figures.lottery_rounds import HEAD, of_softmax
from headcount.figures.style import PAGE_INCHES, look, nothing_to_draw, panel_title, paper_style, save

ROW_INCHES = 2.2
LEGEND_INCHES = 0.6
WITHIN = {"all heads": [], "within each layer": ["attention", "layer"]}
"""Title of a panel, and what the heads that are ranked together have in common."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `rounds.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "rounds")), out)


def stability(rounds: pd.DataFrame, within: list[str]) -> dict[float, Value]:
    """Return, by the number of the later round, how well scores agree with those of the round before.

    Args:
        rounds: of one corpus and variant.
        within: columns whose values heads share that are ranked together; empty: all are.

    """
    found: dict[float, list[float]] = {}
    for _, seed in rounds.dropna(subset="score").groupby("seed"):
        for before, after in pairwise(sorted(map(int, seed["round"].unique()))):
            scores = [seed[seed["round"] == number].set_index(HEAD)["score"] for number in (before, after)]
            both = pd.concat(scores, axis=1, keys=["before", "after"]).dropna()
            if not math.isnan(rho := _spearman(both, within)):
                found.setdefault(float(after), []).append(rho)
    return {number: value for number, rhos in found.items() if (value := over_seeds(pd.Series(rhos)))}


def _spearman(scores: pd.DataFrame, within: list[str]) -> float:
    """Correlate the ranks of two columns; where they are ranked within a layer, as differences to its mean rank."""
    if within:
        ranks = scores.groupby(level=within).rank()
        ranks = ranks - ranks.groupby(level=within).transform("mean")
    else:
        ranks = scores.rank()
    return float(ranks["before"].corr(ranks["after"])) if (ranks.std() > 0).all() else math.nan


def _figure(runs: pd.DataFrame, rounds: pd.DataFrame) -> Figure:
    ranked = of_softmax(rounds)
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for corpus in corpora(runs):
        of = ranked[ranked["corpus"] == corpus]
        variants = {str(variant): table for variant, table in of.groupby("variant") if table["round"].nunique() > 1}
        if variants:
            found[corpus] = {name: variants[name] for name in sorted(variants, key=_place)}
    if not found:
        return nothing_to_draw("no lottery has two rounds that ranked heads")
    size = (PAGE_INCHES, ROW_INCHES * len(found) + LEGEND_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(found), len(WITHIN), squeeze=False, sharey=True)
    for line, (corpus, variants) in zip(grid, found.items(), strict=True):
        for axes, (title, within) in zip(line, WITHIN.items(), strict=True):
            _panel(axes, variants, within)
            panel_title(axes, title + note(runs, corpus))
        line[0].set_ylabel("Spearman's ρ with the round before")
    names = {variant for variants in found.values() for variant in variants}
    handles = [handle(look("ticket", variant)) for variant in sorted(names, key=_place)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _place(variant: str) -> tuple[int, str]:
    """Return where a variant stands: as in other figures, the unknown ones last."""
    name = f"ticket-{variant}".removesuffix("-")
    return [*WAYS, name].index(name), variant


def _panel(axes: Axes, variants: Mapping[str, pd.DataFrame], within: list[str]) -> None:
    axes.axhline(0, color="black", linewidth=0.8, zorder=1)
    last = 2
    for shift, (variant, table) in zip(shifts(len(variants), 6), variants.items(), strict=True):
        points = stability(table, within)
        if points:
            curve(axes, points, look("ticket", variant), shift)
            last = max(last, int(max(points)))
    axes.set_xticks(thinned(range(2, last + 1)))
    axes.set_xlabel("round")
    axes.grid(axis="y")
