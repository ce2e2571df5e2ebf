"""By how much the ticket is ahead of its controls, seed by seed (behnke2020, tables 4 and 5).

The controls have as many heads: the same ones from new weights, with the same training or with that of the rounds on
top, random ones in the same layers, and random ones anywhere.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.curves import curve, handle, removed_axis, row_of, shifts
from headcount.figures.equal_heads import Arm, Contest, contests
from headcount.figures.groups import Group, Value, differences, over_seeds, read
from headcount.figures.style import GREY, MINUS, nothing_to_draw, panel_title, paper_style, save

ROW_INCHES = 2.5
LEGEND_INCHES = 0.5
MOST = 2

BESIDE = 0.012
"""Distance of the single seeds from their mean, as a share of the axis."""

CONTROLS = ("reinit", "reinit_longer", "same_counts", "ticket-random")


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `curves.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "curves")), out)


def gains(ticket: Arm, control: Arm) -> dict[int, pd.Series[float]]:
    """Return ticket minus control in BLEU, seed by seed, for each number of heads that both have."""
    sizes = [heads for heads in ticket.models if heads in control.models]
    found = {heads: differences(ticket.models[heads], control.models[heads]) for heads in sizes}
    return {heads: gain for heads, gain in found.items() if not gain.empty}


def spread(ticket: Group, control: Group, gain: pd.Series[float]) -> Value | None:
    """Return mean and standard deviation of the seeds' gains; of one seed the interval by the paired bootstrap.

    Without a paired bootstrap of the two the interval has no length.
    """
    value = over_seeds(gain)
    if value is None or value.seeds > 1 or "partner" not in control.rows:
        return value
    row = control.rows[control.rows["seed"] == gain.index[0]].iloc[0]
    if row["partner"] not in set(ticket.rows["run"]) or pd.isna(row["partner_low"]):
        return value
    return Value(value.centre, -float(row["partner_high"]), -float(row["partner_low"]), 1)


def _figure(runs: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    found = [(contest, ticket, contest.arms(CONTROLS)) for contest in contests(runs, curves)
             if (ticket := contest.arm("ticket"))]  # fmt: skip
    found = [(contest, ticket, controls) for contest, ticket, controls in found if controls]
    if not found:
        return nothing_to_draw("no lottery ticket has a control")
    figure, panels = row_of(len(found), most=MOST, row_inches=ROW_INCHES, legend_inches=LEGEND_INCHES)
    for axes, (contest, ticket, controls) in zip(panels, found, strict=True):
        _panel(axes, contest, ticket, controls)
        panel_title(axes, contest.title(runs))
    for axes in panels[::MOST]:
        axes.set_ylabel(f"BLEU, ticket {MINUS} control")
    drawn = {arm.name: arm for _, _, controls in found for arm in controls}
    handles = [handle(arm.look, f"{MINUS} {arm.label}") for arm in drawn.values()]
    if runs["seed"].nunique() > 1:
        handles.append(Line2D([], [], color=GREY, marker=".", markersize=3, linestyle="none", label="single seeds"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _panel(axes: Axes, contest: Contest, ticket: Arm, controls: list[Arm]) -> None:
    width = removed_axis(axes, list(ticket.models), contest.every, contest.heads)
    axes.axhline(0, color="black", linewidth=0.8, zorder=1)
    for arm, shift in zip(controls, shifts(2 * len(controls), width)[::2], strict=True):
        found = gains(ticket, arm)
        values = {heads: spread(ticket.models[heads], arm.models[heads], gain) for heads, gain in found.items()}
        curve(axes, {1 - heads / contest.every: value for heads, value in values.items() if value}, arm.look, shift)
        for heads, gain in found.items():
            if len(gain) > 1:
                beside = [1 - heads / contest.every + shift + BESIDE * width] * len(gain)
                axes.plot(beside, gain, color=arm.look.colour, marker=".", markersize=3, linestyle="none")
