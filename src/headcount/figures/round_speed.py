"""Whether rounds get faster as heads go: time of an update against the heads of the model, dense model = 100 %.

Each seed is compared with its own dense model; tickets, which are trained longer, stand beside the rounds.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from headcount.figures.curves import DASHES, curve, dense_handle, handle, row_of
from headcount.figures.groups import note, over_seeds, read
from headcount.figures.lottery_rounds import main_rounds
from headcount.figures.style import GREY, look, nothing_to_draw, panel_title, paper_style, save

ROW_INCHES = 2.4
LEGEND_INCHES = 0.35
MOST = 2
SECONDS = "seconds_per_update"
METHODS = ("round", "ticket")


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `rounds.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "rounds")), out)


def relative(runs: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each round and ticket of the main settings of one corpus, and its dense models.

    Columns are those of `runs`, with `heads` while the run was trained, and `share`: time of an update relative to
    the dense model of the seed.
    """
    before = rounds.groupby("run").size()
    timed = runs[runs[SECONDS].notna()]
    dense = timed[timed["method"] == "baseline"].set_index("seed")
    found = timed[timed["method"].isin(METHODS) & (timed["variant"] == "") & timed["seed"].isin(dense.index)]
    found = found[(found["method"] == "ticket") | found["run"].isin(before.index)]
    found = pd.concat([dense.reset_index(), found], ignore_index=True)
    trained = found["run"].map(before).fillna(found["heads"])
    return found.assign(heads=trained, share=found[SECONDS] / found["seed"].map(dense[SECONDS]))


def _figure(runs: pd.DataFrame, rounds: pd.DataFrame) -> Figure:
    parts = {corpus: runs[runs["corpus"] == corpus] for corpus, _ in main_rounds(runs, rounds)}
    found = {corpus: relative(part, rounds) for corpus, part in parts.items()}
    found = {corpus: table for corpus, table in found.items() if "round" in set(table["method"])}
    if not found:
        return nothing_to_draw("no lottery round was timed")
    figure, panels = row_of(len(found), most=MOST, row_inches=ROW_INCHES, legend_inches=LEGEND_INCHES)
    for axes, (corpus, table) in zip(panels, found.items(), strict=True):
        _panel(axes, table)
        milliseconds = 1000 * table.loc[table["method"] == "baseline", SECONDS].mean()
        panel_title(axes, f"dense: {milliseconds:.3g} ms an update{note(runs, corpus)}")
    for axes in panels[::MOST]:
        axes.set_ylabel("time of an update")
    handles = [dense_handle(), *(handle(look(method)) for method in METHODS)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Axes, table: pd.DataFrame) -> None:
    every = float(table.loc[table["method"] == "baseline", "heads"].max())
    axes.axhline(1, color=look("baseline").colour, linewidth=0.8, linestyle=DASHES, zorder=1)
    for method, shift in zip(METHODS, (0.0, 0.006 * every), strict=True):
        of = table[table["method"] == method]
        sizes = map(float, of["heads"].unique())
        points = {heads: v for heads in sizes if (v := over_seeds(of.loc[of["heads"] == heads, "share"]))}
        if points:
            curve(axes, points, look(method), shift)
    axes.set_xlim(1.04 * every, 0)
    quarters = [round(every * share / 4) for share in range(5)]
    axes.set_xticks(quarters, [f"{heads}\n{heads / every:.0%}" for heads in quarters])
    axes.set_xlabel("heads of the model")
    axes.set_ylim(0, max(1.06, axes.get_ylim()[1]))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(axis="y", color=GREY, alpha=0.25)
