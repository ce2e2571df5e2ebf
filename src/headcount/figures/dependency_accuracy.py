"""How often the best head follows a dependency, against the best fixed offset (voita2019, figure 4 and table 1).

Accuracies are shares of the words that take part in the relation, in the dense softmax model. The best of many heads is
high by chance alone, so the best head on shuffled labels, where the partner is a random other word, stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from headcount.figures.groups import Value, paper_numbers, read
from headcount.figures.style import (
    CORPUS_COLOURS,
    GREY,
    PAGE_INCHES,
    PAPER,
    nothing_to_draw,
    paper_style,
    role_words,
    save,
)

HEIGHT_INCHES = 2.7
GROUP = 0.84
"""Width of the bars of one role, where roles are one apart."""

PAPERS = (PAPER, "#C9C9C9")
"""Greys of the paper's data sets."""

NORMAL = 1.96
"""Quantile of a 95 % interval."""


@dataclass(frozen=True)
class Accuracy:
    """How well one corpus's heads follow a role: the best of `heads`, means over the seeds."""

    corpus: str
    role: str
    best: Value
    shuffled: float
    baseline: float
    cases: int
    heads: int
    named: bool
    """Whether the best head meets the study's criterion for a syntactic head, in every seed."""

    where: tuple[str, ...]
    """Layer and head of the best, of each seed, counted from 1."""


def draw(tables: Path, out: Path) -> None:
    """Read `roles.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(accuracies(read(tables, "roles")), paper_numbers(tables, "voita2019", "table1")), out)


def accuracies(roles: pd.DataFrame) -> list[Accuracy]:
    """Return the best head of each corpus and syntactic role, in the order of the table."""
    dense = roles[(roles["method"] == "baseline") & (roles["attention"] == "encoder")]
    rows = dense[(dense["kind"] == "syntactic") & (dense["cases"] > 0)]
    cells = rows.groupby(["corpus", "role"], sort=False)
    return [_accuracy(str(corpus), str(role), found) for (corpus, role), found in cells]


def _accuracy(corpus: str, role: str, rows: pd.DataFrame) -> Accuracy:
    best = {
        labels: found.sort_values("value", ascending=False, kind="stable").drop_duplicates("run").sort_values("run")
        for labels, found in rows.groupby("labels")
    }
    gold = best["gold"]
    return Accuracy(
        corpus=corpus,
        role=role,
        best=_interval(gold),
        shuffled=float(best["shuffled"]["value"].mean()) if "shuffled" in best else np.nan,
        baseline=float(gold["baseline"].mean()),
        cases=round(gold["cases"].mean()),
        heads=len(rows[["layer", "head"]].drop_duplicates()),
        named=bool((gold["named"] == 1).all()),
        where=tuple(f"{layer + 1}.{head + 1}" for layer, head in zip(gold["layer"], gold["head"], strict=True)),
    )


def _interval(rows: pd.DataFrame) -> Value:
    """Return mean ± standard deviation over the seeds; of one seed the share with Wilson's 95 % interval."""
    shares = rows["value"].to_numpy(dtype=float)
    if len(shares) > 1:
        mean, spread = shares.mean(), shares.std(ddof=1)
        return Value(mean, mean - spread, mean + spread, len(shares))
    share, cases = shares[0], float(rows["cases"].iloc[0])
    middle = share + NORMAL**2 / (2 * cases)
    half = NORMAL * np.sqrt(share * (1 - share) / cases + (NORMAL / (2 * cases)) ** 2)
    scale = 1 + NORMAL**2 / cases
    return Value(share, (middle - half) / scale, (middle + half) / scale, 1)


def _figure(found: Sequence[Accuracy], paper: pd.DataFrame) -> Figure:
    if not found:
        return nothing_to_draw("no corpus of this study has parses")
    roles = list(dict.fromkeys(accuracy.role for accuracy in found))
    corpora = list(dict.fromkeys(accuracy.corpus for accuracy in found))
    shown = printed(paper)
    names = [*corpora, *shown]
    width = GROUP / len(names)
    place = {name: (rank - (len(names) - 1) / 2) * width for rank, name in enumerate(names)}
    colour = {name: CORPUS_COLOURS[rank % len(CORPUS_COLOURS)] for rank, name in enumerate(corpora)}
    figure = Figure(figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots()
    for accuracy in found:
        x = roles.index(accuracy.role) + place[accuracy.corpus]
        _bar(axes, x, width, accuracy.best.centre, accuracy.baseline, colour[accuracy.corpus])
        error = [[side] for side in accuracy.best.error]
        axes.errorbar(x, accuracy.best.centre, error, color="black", elinewidth=0.7, capsize=1.2, linestyle="none")
        axes.plot(x, accuracy.shuffled, marker="o", markersize=3, color="black", markerfacecolor="white", linestyle="")
    for (name, values), grey in zip(shown.items(), PAPERS, strict=False):
        for role in [role for role in roles if role in values.index]:
            shares = (float(values["best"][role]), float(values["baseline"][role]))
            _bar(axes, roles.index(role) + place[name], width, *shares, grey)
    axes.set_xticks(range(len(roles)), [role_words(role).replace("→ ", "→\n") for role in roles])
    axes.tick_params(axis="x", length=0, pad=2)
    axes.set_xlim(-0.5, len(roles) - 0.5)
    _relations(axes, roles)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_ylim(0, 1)
    axes.grid(axis="y")
    heads = sorted({accuracy.heads for accuracy in found})
    axes.set_ylabel(f"accuracy, best of {' or '.join(map(str, heads))} heads")
    figure.legend(handles=_handles(colour, list(shown)), loc="outside lower center", ncols=4)
    return figure


def printed(paper: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the paper's shares by data set: one row a role, columns `best` and `baseline`."""
    parts = paper.assign(
        data=paper["series"].str.rsplit(" ", n=1).str[0],
        what=paper["series"].str.rsplit(" ", n=1).str[-1],
        y=pd.to_numeric(paper["y"]) / 100,
    )
    return {
        str(data): rows.pivot(index="x", columns="what", values="y") for data, rows in parts.groupby("data", sort=False)
    }


def _bar(axes: Axes, x: float, width: float, best: float, baseline: float, colour: str) -> None:
    axes.bar(x, best, width=0.92 * width, color=colour, linewidth=0)
    axes.plot([x - width / 2, x + width / 2], [baseline, baseline], color="black", linewidth=1.4, solid_capstyle="butt")


def _relations(axes: Axes, roles: Sequence[str]) -> None:
    """Name the relations above their roles, and draw a line between them."""
    relations = [role.rpartition(":")[0] for role in roles]
    for relation in dict.fromkeys(relations):
        first, last = relations.index(relation), len(roles) - 1 - relations[::-1].index(relation)
        axes.annotate(
            relation,
            ((first + last) / 2, 1),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            weight="bold",
        )
        if first:
            axes.axvline(first - 0.5, color=GREY, linewidth=0.5)


def _handles(colours: dict[str, str], paper: Sequence[str]) -> list[Artist]:
    bars = [Patch(color=colour, label=corpus) for corpus, colour in colours.items()]
    bars += [Patch(color=colour, label=f"paper: {name}") for name, colour in zip(paper, PAPERS, strict=False)]
    tick = Line2D([], [], color="black", linewidth=1.4, label="best fixed offset")
    ring = Line2D([], [], color="black", marker="o", markersize=3, markerfacecolor="white", linestyle="")
    ring.set_label("best head, shuffled labels")
    return [*bars, tick, ring]
