"""Whether measures of a head's relevance agree, with each other and with its confidence (voita2019, section 4).

Left: relevance by LRP, as a share of the layer, against confidence, for the encoder heads of the main corpus's first
dense model. Right: Spearman's rank correlation over the encoder heads, mean over the seeds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, PercentFormatter

from headcount.figures.groups import main_corpus, note, of_main, read
from headcount.figures.style import (
    GREY,
    LOOKS,
    PAGE_INCHES,
    ROLES,
    nothing_to_draw,
    panel_title,
    paper_style,
    role_name,
    save,
)

HEIGHT_INCHES = 2.9
ENCODER = "encoder"
LRP = "lrp_epsilon"
CONFIDENCE = "confidence"

MEASURES = {
    LRP: "LRP, ε rule",
    "lrp_alpha_beta": "LRP, αβ rule",
    "gradient_times_activation": "gradient × activation",
    "gate_gradient": "|gradient of the gate|",
    "leave_one_out": "loss without the head",
}
PARTNERS = {
    LRP: ("with LRP, ε rule", LOOKS["l0"].colour, -0.2),
    CONFIDENCE: ("with confidence", LOOKS["reinit"].colour, 0.2),
}
"""What each measure is compared with: label, colour and place of its bar."""

BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18), "fontsize": 6.5, "handlelength": 1.4}
"""Where the legends stand."""

KINDS = {
    "positional": ("positional", "s"),
    "syntactic": ("syntactic", "^"),
    "rare": ("rare tokens", "D"),
    "several": ("of several kinds", "P"),
    "unnamed": ("unnamed", "o"),
}
"""Label and marker of each kind of head."""


def draw(tables: Path, out: Path) -> None:
    """Read five tables, named below, and write the figure to `out` (SVG) and beside it as PDF."""
    names = ("runs", "relevance", "observations", "roles", "agreement")
    with paper_style():
        save(_figure(*(read(tables, name) for name in names)), out)


def _figure(
    runs: pd.DataFrame,
    relevance: pd.DataFrame,
    observations: pd.DataFrame,
    roles: pd.DataFrame,
    agreement: pd.DataFrame,
) -> Figure:
    relevance, observations, roles, agreement = (
        _encoder(of_main(runs, table)) for table in (relevance, observations, roles, agreement)
    )
    if relevance.empty:
        return nothing_to_draw("no head's relevance was measured")
    dense = relevance["run"].iloc[0]
    heads = _heads(*(table[table["run"] == dense] for table in (relevance, observations, roles)))
    agreement = agreement[agreement["run"].isin(runs.loc[runs["method"] == relevance["method"].iloc[0], "run"])]
    remark = note(runs, main_corpus(runs))
    figure = Figure(figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained")
    left, right = figure.subplots(1, 2)
    seed = runs.loc[runs["run"] == dense, "seed"].iloc[0]
    panel_title(left, f"encoder heads{remark}, seed {seed:.0f}")
    _scatter(left, heads)
    panel_title(right, f"rank correlation over the encoder heads{remark}")
    _bars(right, agreement)
    return figure


def _encoder(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["attention"] == ENCODER]


def _heads(relevance: pd.DataFrame, observations: pd.DataFrame, roles: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each head with its LRP share, its interval, its confidence, and what it does."""
    place = ["layer", "head"]
    shares = relevance[relevance["measure"] == LRP].set_index(place)[["value", "low", "high"]]
    confidence = observations[observations["measure"] == CONFIDENCE].set_index(place)["value"].rename(CONFIDENCE)
    named = roles[(roles["labels"] == "gold") & (roles["named"] == 1)].groupby(place)
    kinds = named["kind"].agg(lambda kind: kind.iloc[0] if kind.nunique() == 1 else "several").rename("kind")
    names = named["role"].agg(lambda role: ", ".join(map(role_name, role))).rename("roles")
    return shares.join([confidence, kinds, names]).fillna({"kind": "unnamed", "roles": ""})


def _scatter(axes: Axes, heads: pd.DataFrame) -> None:
    even = 1 / (heads.index.get_level_values("head").max() + 1)
    axes.axhline(even, color=GREY, linewidth=0.8, linestyle=":", label="even share")
    for kind, (label, marker) in KINDS.items():
        rows = heads[heads["kind"] == kind]
        if rows.empty:
            continue
        errors = [(rows["value"] - rows["low"]).clip(lower=0), (rows["high"] - rows["value"]).clip(lower=0)]
        axes.errorbar(
            rows[CONFIDENCE],
            rows["value"],
            yerr=errors,
            color=ROLES[kind],
            ecolor=GREY,
            marker=marker,
            markersize=5,
            markeredgecolor="black",
            markeredgewidth=0.5,
            elinewidth=0.5,
            capsize=0,
            linestyle="none",
            label=label,
        )
    for _, head in heads[heads["roles"] != ""].iterrows():
        text = axes.annotate(
            head["roles"], (head[CONFIDENCE], head["value"]), (4, 2), textcoords="offset points", fontsize=5.5, zorder=1
        )
        text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
    axes.margins(x=0.08, y=0.1)
    axes.set_xlabel("confidence (mean maximum weight)")
    axes.set_ylabel("LRP relevance, share of the layer")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.legend(**BELOW, ncols=3)


def _bars(axes: Axes, agreement: pd.DataFrame) -> None:
    """Draw a bar for each pair of measures: all layers, mean over the seeds; dots are single layers."""
    measures = [measure for measure in MEASURES if measure in set(agreement["measure_a"])]
    for partner, (_, colour, place) in PARTNERS.items():
        pairs = agreement[agreement["measure_b"] == partner]
        for row, measure in enumerate(measures):
            table = pairs[pairs["measure_a"] == measure]
            everything = table["layer"].astype(str) == "all"
            if not everything.any():
                continue
            overall = table.loc[everything, "spearman"]
            axes.barh(row + place, overall.mean(), height=0.36, color=colour, alpha=0.8)
            layers = table.loc[~everything].groupby("layer")["spearman"].mean()
            axes.plot(layers, [row + place] * len(layers), "o", color="black", markersize=2, linestyle="none")
            if len(overall) > 1:
                axes.errorbar(overall.mean(), row + place, xerr=overall.std(ddof=1), color="black", elinewidth=0.8)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(range(len(measures)), [MEASURES[measure] for measure in measures])
    axes.set_ylim(len(measures) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(min(0.0, axes.get_xlim()[0]), 1)
    axes.grid(axis="x")
    axes.set_xlabel("Spearman's ρ  (dots: single layers)")
    handles = [Patch(color=colour, alpha=0.8, label=label) for label, colour, _ in PARTNERS.values()]
    axes.legend(handles=handles, **BELOW, ncols=2)
