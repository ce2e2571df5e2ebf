"""Validation loss and BLEU over the updates of every model of the main corpus that is trained to the full budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from headcount.figures.groups import PRUNED, SOFTMAX, Group, groups, main_corpus, note, of_main, read
from headcount.figures.style import PAGE_INCHES, Stroke, look, nothing_to_draw, panel_title, paper_style, save

HEIGHT_INCHES = 2.5
LINE_INCHES = 0.125
"""Height of a line of the legend; many settings make the figure higher."""

METRICS = {"valid/loss": "validation loss (nats per piece)", "valid/bleu": "validation BLEU (greedy)"}

OTHERS = ("l0", "random", "unnamed", "named", "round", "lookup")
"""Fine-tunings and rounds start from a trained or half-trained model and stop early."""

STROKES: tuple[Stroke, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)))
"""One after the other for the settings of a method, such as tickets of several sizes."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `curves.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(read(tables, "runs"), read(tables, "curves")), out)


def _figure(runs: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    remark = note(runs, main_corpus(runs)).removeprefix(", ")
    runs = of_main(runs, runs)
    validated = curves[curves["metric"].isin(METRICS)]
    trained = runs[runs["run"].isin(validated["run"]) & ~runs["method"].isin(OTHERS)]
    found = groups(trained)
    if not found:
        return nothing_to_draw("no run of this study was validated during training")
    metrics = [metric for metric in METRICS if metric in set(validated["metric"])]
    strokes = _strokes(found)
    handles = _handles(found, strokes)
    lines = sum(1.3 + str(handle.get_label()).count("\n") for handle in handles)
    height = max(HEIGHT_INCHES, LINE_INCHES * lines)
    figure = Figure(figsize=(PAGE_INCHES, height), layout="constrained")
    row = figure.subplots(1, len(metrics), squeeze=False)[0]
    for axes, metric in zip(row, metrics, strict=True):
        table = validated[validated["metric"] == metric]
        for group, stroke in zip(found, strokes, strict=True):
            _curve(axes, group, table, stroke)
        axes.set_xlabel("update")
        axes.set_ylabel(METRICS[metric])
        axes.set_xlim(left=0)
        if metric == "valid/bleu":
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.grid()
        panel_title(axes, remark)
    figure.legend(handles=handles, loc="outside right center")
    return figure


def _strokes(found: Sequence[Group]) -> list[Stroke]:
    """Give the settings of each method different strokes."""
    available = {group.method: cycle(STROKES) for group in found}
    return [next(available[group.method]) for group in found]


def _curve(axes: Axes, group: Group, table: pd.DataFrame, stroke: Stroke) -> None:
    """Draw the mean over the seeds, and with several seeds a band of one standard deviation."""
    values = table[table["run"].isin(group.rows["run"])].pivot(index="update", columns="run", values="value").dropna()
    style = look(group.method)
    mean = values.mean(axis=1)
    axes.plot(
        values.index,
        mean,
        color=style.colour,
        linestyle=stroke,
        marker=style.marker,
        markersize=2.6,
        markeredgewidth=0,
    )
    if values.shape[1] > 1:
        spread = values.std(axis=1, ddof=1)
        axes.fill_between(values.index, mean - spread, mean + spread, color=style.colour, alpha=0.15, linewidth=0)


def _handles(found: Sequence[Group], strokes: Sequence[Stroke]) -> list[Line2D]:
    handles = []
    for group, stroke in zip(found, strokes, strict=True):
        style = look(group.method)
        parts = [style.label]
        if group.method in PRUNED:
            parts += [look(group.normaliser).label] * (group.normaliser != SOFTMAX)
            parts.append(f"heads of L0, {group.label}" if group.method == "scratch" else group.label)
        label = ",\n".join(parts)
        handles.append(
            Line2D([], [], color=style.colour, linestyle=stroke, marker=style.marker, markersize=3, label=label)
        )
    return handles
