"""Whether heads of sparse attention are easier to prune, and whether α or density tells which of them survive.

An extension of correia2019. Above: BLEU against the heads kept, for the three dense models and what L0 gates and the
lottery left of them. Below: α and density, before pruning, of the heads that were kept and that were removed, with 95 %
intervals over the heads of all seeds; of each method the setting that kept nearest to half of them. Main corpus.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headcount.figures.groups import SOFTMAX, Group, Value, groups, main_corpus, note, of_main, read
from headcount.figures.style import (
    EDGE,
    PAGE_INCHES,
    SHORT_LABELS,
    Stroke,
    look,
    nothing_to_draw,
    panel_title,
    paper_style,
    save,
)
from headcount.figures.variants import label, remarks

BLEU_INCHES = 2.4
HEADS_INCHES = 2.1
LEGEND_INCHES = 0.6
STROKES: dict[str, Stroke] = {"l0": "-", "ticket": (0, (4, 2))}
"""The pruning methods, and how their points are joined."""

MEASURES = {"alpha": "α before pruning", "density": "density before pruning"}
HEAD = ["run", "attention", "layer", "head"]
NORMAL = 1.96
SHIFT = 0.012
"""Distance of points with as many heads of different dense models, as a share of the axis."""


@dataclass(frozen=True)
class Comparison:
    """How heads that a method kept differ from those that it removed; nothing where it kept all or none of a type."""

    normaliser: str
    method: str
    setting: str
    measure: str
    kept: dict[str, Value]
    removed: dict[str, Value]
    correlation: Value
    """Rank correlation with being kept, within the attention types; 95 % interval."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `heads.csv` and `observations.csv` and write the figure to `out` (SVG) and as PDF."""
    with paper_style():
        save(_figure(*(read(tables, name) for name in ("runs", "heads", "observations"))), out)


def pruned(runs: pd.DataFrame) -> list[Group]:
    """Return the main corpus's dense models with what was pruned of them in all attentions, for sparse ones also."""
    found = [group for group in groups(of_main(runs, runs)) if group.bleu() is not None]
    found = [group for group in found if _is_dense(group) or (group.method in STROKES and group.scope == "all")]
    families = {group.normaliser for group in found if not _is_dense(group)}
    return [group for group in found if group.normaliser in families] if families - {SOFTMAX} else []


def _is_dense(group: Group) -> bool:
    return group.method == dense_method(group.normaliser)


def dense_method(normaliser: str) -> str:
    """Return the method of the dense model with a normaliser."""
    return "baseline" if normaliser == SOFTMAX else normaliser


def comparisons(runs: pd.DataFrame, heads: pd.DataFrame, measures: pd.DataFrame) -> list[Comparison]:
    """Compare kept with removed heads for each measure, sparse normaliser and pruning method."""
    found = []
    for group in _nearest_half(pruned(runs)):
        dense = runs[(runs["method"] == dense_method(group.normaliser)) & (runs["corpus"] == group.corpus)]
        rows = heads[heads["run"].isin(group.rows["run"])].merge(group.rows[["run", "seed"]], on="run")
        for measure in MEASURES:
            values = measures[measures["measure"] == measure].dropna(subset="head")
            values = values.merge(dense[["run", "seed"]], on="run")[["seed", *HEAD[1:], "value"]]
            table = rows.merge(values.astype({"head": int}), on=["seed", *HEAD[1:]])
            if not table.empty:
                found.append(_comparison(group, measure, table))
    return sorted(found, key=lambda one: (list(MEASURES).index(one.measure), one.normaliser))


def _nearest_half(found: Sequence[Group]) -> list[Group]:
    """Return of each sparse normaliser and method the setting that kept nearest to half of the heads."""
    chosen: dict[tuple[str, str], tuple[float, Group]] = {}
    every = {group.normaliser: _heads(group) for group in found if _is_dense(group)}
    for group in found:
        share = _heads(group) / every.get(group.normaliser, math.nan)
        far = abs(share - 0.5)
        place = (group.normaliser, group.method)
        if group.normaliser != SOFTMAX and 0 < share < 1 and far < chosen.get(place, (1.0, group))[0]:
            chosen[place] = (far, group)
    return [group for _, group in chosen.values()]


def _heads(group: Group) -> float:
    value = group.value("heads")
    return value.centre if value else math.nan


def _comparison(group: Group, measure: str, table: pd.DataFrame) -> Comparison:
    """Compare from a row a head, with `kept` and `value`."""
    sides = {
        kept: {str(kind): _mean(rows["value"]) for kind, rows in table[table["kept"] == kept].groupby("attention")}
        for kept in (1, 0)
    }
    return Comparison(group.normaliser, group.method, group.label, measure, sides[1], sides[0], rank_correlation(table))


def _mean(values: pd.Series[float]) -> Value:
    """Return the mean of heads with its 95 % interval."""
    half = NORMAL * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Value(float(values.mean()), float(values.mean()) - half, float(values.mean()) + half, len(values))


def rank_correlation(table: pd.DataFrame) -> Value:
    """Correlate the rank of `value` with `kept`, both within each run's attention type, with Fisher's interval.

    Types differ in sparsity and in how many of their heads survive, which says nothing about single heads.
    """
    types = table.groupby(["run", "attention"])
    ranks = types["value"].rank() - types["value"].rank().groupby([table["run"], table["attention"]]).transform("mean")
    kept = table["kept"] - types["kept"].transform("mean")
    if kept.abs().max() == 0 or ranks.abs().max() == 0 or len(table) < 4:
        return Value(math.nan, math.nan, math.nan, 0)
    value = float(np.clip(np.corrcoef(ranks, kept)[0, 1], -0.999999, 0.999999))
    half = NORMAL / math.sqrt(len(table) - 3)
    return Value(value, math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half), len(table))


def _figure(runs: pd.DataFrame, heads: pd.DataFrame, measures: pd.DataFrame) -> Figure:
    found = pruned(runs)
    if not found:
        return nothing_to_draw("no model with sparse attention was pruned")
    compared = comparisons(runs, heads, measures)
    # The α of a fixed normaliser is the same for all heads and can predict nothing.
    told = [one for one in compared if not math.isnan(one.correlation.centre)]
    panels = list(dict.fromkeys((one.measure, one.normaliser) for one in told))
    height = BLEU_INCHES + LEGEND_INCHES + (HEADS_INCHES if panels else 0)
    figure = Figure(figsize=(PAGE_INCHES, height), layout="constrained")
    ratios = [BLEU_INCHES, HEADS_INCHES] if panels else [BLEU_INCHES]
    parts = figure.subfigures(len(ratios), 1, height_ratios=ratios, squeeze=False)[:, 0]
    axes = parts[0].subplots()
    panel_title(axes, f"pruning heads in all attentions{note(runs, main_corpus(runs))}")
    _bleu(axes, found)
    if panels:
        row = parts[1].subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(row, panels, strict=True):
            _heads_panel(axes, [one for one in compared if (one.measure, one.normaliser) == panel])
    figure.legend(handles=_handles(found, bool(panels)), loc="outside lower center", ncols=4)
    return figure


def _colour(normaliser: str) -> str:
    return look(dense_method(normaliser)).colour


def _bleu(axes: Axes, found: Sequence[Group]) -> None:
    most = max(map(_heads, found))
    families = list(dict.fromkeys(group.normaliser for group in found))
    for rank, normaliser in enumerate(families):
        shift = (rank - (len(families) - 1) / 2) * SHIFT * most
        family = [group for group in found if group.normaliser == normaliser]
        start = [group for group in family if _is_dense(group)]
        for group in start:
            _points(axes, [group], shift, look("baseline").marker)
        for method, stroke in STROKES.items():
            series = [group for group in family if group.method == method]
            line = sorted([*(start if method == "ticket" else []), *series], key=_heads, reverse=True)
            _points(axes, series, shift, look(method).marker)
            heights = [value.centre for group in line if (value := group.bleu())]
            places = [_heads(group) - shift for group in line]
            axes.plot(places, heights, color=_colour(normaliser), linestyle=stroke, linewidth=0.9)
    axes.set_xlim(1.06 * most, 0)
    quarters = [round(most * share / 4) for share in range(5)]
    axes.set_xticks(quarters, [f"{heads}\n{heads / most:.0%}" for heads in quarters])
    axes.grid(axis="y")
    axes.set_xlabel(f"heads kept, all types (of {most:.0f})")
    axes.set_ylabel("BLEU on the test set")


def _points(axes: Axes, series: Sequence[Group], shift: float, marker: str) -> None:
    for group in series:
        heads, bleu = group.value("heads"), group.bleu()
        assert heads is not None
        assert bleu is not None
        errors: dict[str, Any] = {}
        for name, value in (("xerr", heads), ("yerr", bleu)):
            errors[name] = [[side] for side in value.error]
        looks: dict[str, Any] = {"color": _colour(group.normaliser), "marker": marker, **EDGE}
        looks |= {"elinewidth": 0.7, "capsize": 1.4}
        axes.errorbar(heads.centre - shift, bleu.centre, **errors, **looks, linestyle="none", zorder=3)


def _heads_panel(axes: Axes, compared: Sequence[Comparison]) -> None:
    """Draw means of kept (filled) and removed heads (white) of each attention type, a line a method."""
    first = compared[0]
    for place, one in enumerate(compared):
        lane = 0.22 * (place - (len(compared) - 1) / 2)
        for row, kind in enumerate(SHORT_LABELS):
            colour, marker = _colour(one.normaliser), look(one.method).marker
            for side, face in ((one.removed, "white"), (one.kept, colour)):
                if kind in side:
                    error = [[end] for end in side[kind].error]
                    looks: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": face}
                    axes.errorbar(side[kind].centre, row + lane, xerr=error, elinewidth=0.8, **looks)
    axes.set_yticks(range(len(SHORT_LABELS)), list(SHORT_LABELS.values()))
    axes.set_ylim(len(SHORT_LABELS) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel(MEASURES[first.measure])
    lines = [f"{one.setting}: {interval(one.correlation)}" for one in compared]
    remarks(axes, f"{label(dense_method(first.normaliser))}: \nrank correlation with survival", *lines)


def interval(value: Value) -> str:
    """Write a rank correlation with its interval."""
    if math.isnan(value.centre):
        return "–"
    return f"{value.centre:.2f} [{value.low:.2f}, {value.high:.2f}]".replace("-", "\N{MINUS SIGN}")


def _handles(found: Sequence[Group], compared: bool) -> list[Line2D]:
    families = dict.fromkeys(group.normaliser for group in found)
    handles = [Line2D([], [], color=_colour(name), label=label(dense_method(name))) for name in families]
    black: dict[str, Any] = {"color": "black", "markersize": 5}
    handles.append(Line2D([], [], marker=look("baseline").marker, linestyle="none", label="dense", **black))
    for method, stroke in STROKES.items():
        if any(group.method == method for group in found):
            style = look(method)
            handles.append(Line2D([], [], marker=style.marker, linestyle=stroke, label=style.label, **black))
    if compared:
        for face, name in (("black", "heads kept"), ("white", "heads removed")):
            handles.append(Line2D([], [], marker="o", markerfacecolor=face, linestyle="none", label=name, **black))
    return handles
