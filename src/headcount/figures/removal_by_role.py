"""What is lost when all heads without a role go, and when as many heads with a role go (voita2019, sections 5 and 6.2).

Change of BLEU against the dense model, by corpus. The fine-tuning after the removal is as long as that of an L0 run, so
the run with λ = 0, from which nothing was removed, tells what the extra training does by itself.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.groups import Group, Value, corpora, groups, read
from headcount.figures.style import COLUMN_INCHES, GREY, Look, look, nothing_to_draw, paper_style, save

CORPUS_INCHES = 0.62
AROUND_INCHES = 1.15
"""Height of the axis and the legend."""

PLACES = {"control": -0.27, "unnamed": 0.0, "named": 0.27}
"""Where each kind of run stands within the band of its corpus."""

SIGNIFICANT = 0.05


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs")), out)


def _figure(runs: pd.DataFrame) -> Figure:
    every = groups(runs[runs["bleu_delta"].notna() | (runs["method"] == "baseline")])
    dense = {group.corpus: group for group in every if group.method == "baseline"}
    removed = [group for group in every if group.method in PLACES]
    shown = [corpus for corpus in corpora(runs) if corpus in {group.corpus for group in removed}]
    if not shown:
        return nothing_to_draw("no run removed heads by their role")
    controls = [group for group in every if _is_control(group) and group.corpus in shown]
    figure = Figure(figsize=(COLUMN_INCHES, CORPUS_INCHES * len(shown) + AROUND_INCHES), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color="black", linewidth=0.8, linestyle=(0, (4, 2)))
    for group in (*controls, *removed):
        _point(axes, group, dense[group.corpus], shown.index(group.corpus))
    axes.set_yticks(range(len(shown)), [_band(corpus, removed, dense[corpus]) for corpus in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel("change of BLEU against the dense model")
    present = [name for name in PLACES if any(_kind(group) == name for group in (*controls, *removed))]
    figure.legend(handles=[_handle(name) for name in present], loc="outside lower center")
    return figure


def _is_control(group: Group) -> bool:
    return group.method == "l0" and group.scope == "encoder" and group.penalty == 0


def _kind(group: Group) -> str:
    return "control" if _is_control(group) else group.method


def _look(kind: str) -> Look:
    """Return how a kind of run appears; the control borrows the colour of the L0 runs."""
    if kind == "control":
        return Look("nothing removed, as much extra training (λ = 0)", look("l0").colour, look("l0").marker)
    return look(kind)


def _band(corpus: str, removed: list[Group], dense: Group) -> str:
    """Name a corpus and how many encoder heads go, which is one number for both kinds of removal."""
    group = next(group for group in removed if group.corpus == corpus)
    before, after = dense.value("heads_encoder"), group.value("heads_encoder")
    assert before is not None
    assert after is not None
    gone = f"{before.centre - after.centre:.1f}".removesuffix(".0")
    return f"{corpus}\n\N{MINUS SIGN}{gone} of {before.centre:.0f} heads".lstrip("\n")


def _point(axes: Axes, group: Group, dense: Group, band: int) -> None:
    value = _delta(group, dense)
    style = _look(_kind(group))
    place = band + PLACES[_kind(group)]
    p_values = group.rows["p_value"].dropna()
    significant = not p_values.empty and bool((p_values < SIGNIFICANT).all())
    below, above = value.error
    axes.errorbar(
        value.centre,
        place,
        xerr=[[below], [above]],
        color=style.colour,
        marker=style.marker,
        markersize=5,
        markerfacecolor=style.colour if significant else "white",
        elinewidth=0.9,
        linestyle="none",
        zorder=3,
    )
    if value.seeds > 1:
        axes.plot(group.rows["bleu_delta"], [place] * len(group.rows), ".", color=GREY, markersize=2.5, zorder=4)


def _delta(group: Group, dense: Group) -> Value:
    """Return the change of BLEU ± standard deviation over the seeds; of one seed with its 95 % interval.

    Without an interval of the paired difference, those of the two scores are combined as if they were independent,
    which makes it too wide.
    """
    value = group.value("bleu_delta")
    assert value is not None
    if value.seeds > 1:
        return value
    row = group.rows.iloc[0]
    if pd.notna(row.get("bleu_delta_low")):
        return Value(value.centre, float(row["bleu_delta_low"]), float(row["bleu_delta_high"]), 1)
    ours, theirs = group.bleu(), dense.bleu()
    assert ours is not None
    assert theirs is not None
    below, above = (math.hypot(*ends) for ends in zip(ours.error, reversed(theirs.error), strict=True))
    return Value(value.centre, value.centre - below, value.centre + above, 1)


def _handle(kind: str) -> Line2D:
    style = _look(kind)
    return Line2D([], [], color=style.colour, marker=style.marker, markersize=5, linewidth=0.9, label=style.label)
