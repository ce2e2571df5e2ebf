"""BLEU of the tickets against the share of heads removed, beside their controls (behnke2020, table 1 as a figure).

A row for each corpus. On the left models with as many heads in every layer as the ticket, on the right tickets that
were drawn by another score, another ranking or from another update.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headcount.figures.curves import curve, dense_handle, dense_line, filled, handle, removed_axis, shifts
from headcount.figures.equal_heads import Arm, Contest, contests
from headcount.figures.groups import read
from headcount.figures.style import PAGE_INCHES, nothing_to_draw, panel_title, paper_style, save

ROW_INCHES = 2.6
LEGEND_INCHES = 0.7

SAME_LAYERS = ("ticket", "same_counts", "reinit", "reinit_longer")


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `curves.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "curves")), out)


def panels(contest: Contest) -> list[tuple[str, list[Arm]]]:
    """Return title and arms of the panels of a contest; one that has nothing beside the ticket is left out."""
    both = [
        ("as many heads in each layer as the ticket", contest.arms(SAME_LAYERS)),
        ("tickets drawn in other ways", contest.arms(contest.tickets())),
    ]
    return [panel for panel in both if len(panel[1]) > 1] or both[:1]


def _figure(runs: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    found = [contest for contest in contests(runs, curves) if contest.arm("ticket")]
    if not found:
        return nothing_to_draw("no lottery ticket has a BLEU score")
    rows = [panels(contest) for contest in found]
    columns = max(map(len, rows))
    width = PAGE_INCHES * (0.7 if columns == 1 else 1)
    figure = Figure(figsize=(width, ROW_INCHES * len(rows) + LEGEND_INCHES), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False, sharey="row")
    for line, contest, row in zip(grid, found, rows, strict=True):
        for axes, (title, arms) in filled(line, row):
            _panel(axes, contest, arms)
            panel_title(axes, title)
        line[0].set_ylim(bottom=max(line[0].get_ylim()[0], 0.0))  # no BLEU is negative, an error bar may be
        line[0].set_ylabel("\n".join(filter(None, (contest.title(runs), "BLEU on the test set"))))
    drawn = {arm.name: arm for row in rows for _, arms in row for arm in arms}
    handles = [dense_handle(), *(handle(arm.look, arm.label) for arm in drawn.values())]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if columns == 1 else 3)
    return figure


def _panel(axes: Axes, contest: Contest, arms: Sequence[Arm]) -> None:
    sizes = {heads for arm in arms for heads in arm.models}
    width = removed_axis(axes, sorted(sizes), contest.every, contest.heads)
    dense_line(axes, contest.dense)
    for arm, shift in zip(arms, shifts(len(arms), width), strict=True):
        points = {1 - heads / contest.every: v for heads, group in arm.models.items() if (v := group.bleu())}
        curve(axes, points, arm.look, shift)
    axes.margins(y=0.08)
