"""Attention maps of the heads that play a role most clearly: rare pieces, position, syntax (voita2019, figure 5).

One row for each chosen sentence of each corpus, one column for each kind of role. Among the encoder heads of the
corpus's first dense model, the head is the one that attends most often to the two least frequent pieces, to one
neighbour, or to a word in one dependency relation, there by its lead over the best fixed offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from headcount.figures.groups import corpora, read
from headcount.figures.maps import PIECE_INCHES, draw_map, scale, write_above
from headcount.figures.style import GREY, PAGE_INCHES, nothing_to_draw, paper_style, role_name, role_words, save

ROWS = 3
"""Sentences in the figure, shared among the corpora; each corpus has at least one."""

LEFT_INCHES = 0.75
RIGHT_INCHES = 0.1
GAP_INCHES = 0.12
TOP_INCHES = 0.62
BETWEEN_INCHES = 0.82
BOTTOM_INCHES = 0.95

KINDS = {"rare": "rare pieces", "positional": "position", "syntactic": "syntax"}
RARE = "rare-2"


@dataclass(frozen=True)
class Example:
    """A head, and what the title of its map says of it."""

    layer: int
    head: int
    remark: str


@dataclass(frozen=True)
class Row:
    """The maps of one sentence; `corpus` is empty where the row above names it, `sparse` weights can be exactly 0."""

    corpus: str
    maps: pd.DataFrame
    examples: dict[str, Example]
    sparse: bool

    def of(self, example: Example) -> pd.DataFrame:
        """Return the cells of one head's map."""
        return self.maps[(self.maps["layer"] == example.layer) & (self.maps["head"] == example.head)]


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `roles.csv` and `maps.csv` and write the figure to `out` (SVG) and beside it as PDF."""
    with paper_style():
        save(_figure(*(read(tables, name) for name in ("runs", "roles", "maps"))), out)


def _figure(runs: pd.DataFrame, roles: pd.DataFrame, maps: pd.DataFrame) -> Figure:
    rows = _rows(runs, roles[roles["attention"] == "encoder"], maps[maps["attention"] == "encoder"])
    if not rows:
        return nothing_to_draw("no attention map was kept")
    kinds = [kind for kind in KINDS if any(kind in row.examples for row in rows)]
    heights = [PIECE_INCHES * (row.maps["query"].max() + 1) for row in rows]
    height = TOP_INCHES + sum(heights) + BETWEEN_INCHES * (len(rows) - 1) + BOTTOM_INCHES
    figure = Figure(figsize=(PAGE_INCHES, height))
    width = (PAGE_INCHES - LEFT_INCHES - RIGHT_INCHES + GAP_INCHES) / len(kinds) - GAP_INCHES
    bottom = height - TOP_INCHES
    zeros = False
    for row, inches in zip(rows, heights, strict=True):
        bottom -= inches
        first = next(kind for kind in kinds if kind in row.examples)
        for column, kind in enumerate(kinds):
            left = LEFT_INCHES + column * (width + GAP_INCHES)
            axes = figure.add_axes((left / PAGE_INCHES, bottom / height, width / PAGE_INCHES, inches / height))
            if column == 0:
                write_above(axes, row.corpus, rise=11, shift=4 - 72 * LEFT_INCHES, weight="bold")
            if kind not in row.examples:
                axes.set_axis_off()
                continue
            example = row.examples[kind]
            zeros |= draw_map(axes, row.of(example), width, sparse=row.sparse, labelled=kind == first)
            write_above(axes, f"layer {example.layer + 1}, head {example.head + 1}", rise=11, fontsize=6.5)
            write_above(axes, example.remark, rise=3, fontsize=5.8, color=GREY)
            if row is rows[0]:
                write_above(axes, KINDS[kind], rise=22, weight="bold")
        bottom -= BETWEEN_INCHES
    scale(figure, LEFT_INCHES, zeros=zeros)
    return figure


def _rows(runs: pd.DataFrame, roles: pd.DataFrame, maps: pd.DataFrame) -> list[Row]:
    """Choose for each corpus the heads that show their role best, and the sentences that show it of the rare one."""
    rows = []
    listed = [corpus for corpus in corpora(runs) if corpus in set(maps["corpus"])]
    for corpus in listed:
        kept = maps[maps["corpus"] == corpus]
        model = runs[runs["run"].isin(kept["run"])].iloc[0]
        examples = _examples(roles[(roles["run"] == model["run"]) & (roles["labels"] == "gold")])
        sparse = model["method"] != "baseline"
        found = [
            Row(corpus, table, examples, sparse) for _, table in kept[kept["run"] == model["run"]].groupby("sentence")
        ]
        if examples:
            rows += sorted(found, key=_gathered, reverse=True)[: max(1, ROWS // len(listed))]
    several = len(listed) > 1
    names = [row.corpus for row in rows]
    return [
        replace(row, corpus=row.corpus if several and row.corpus not in names[:place] else "")
        for place, row in enumerate(rows)
    ]


def _gathered(row: Row) -> float:
    """Return the mean weight that the rare head puts on the two pieces that it attends to most."""
    if "rare" not in row.examples:
        return 0.0
    return float(row.of(row.examples["rare"]).groupby("key")["weight"].mean().nlargest(2).sum())


def _examples(roles: pd.DataFrame) -> dict[str, Example]:
    """Return the clearest head of each kind of role, as far as the kind was measured."""
    leads = {
        "rare": roles.loc[roles["role"] == RARE, "value"],
        "positional": roles.loc[roles["kind"] == "positional", "value"],
        "syntactic": (roles["value"] - roles["baseline"])[roles["kind"] == "syntactic"],
    }
    return {kind: _example(roles.loc[[lead.idxmax()]].iloc[0]) for kind, lead in leads.items() if lead.notna().any()}


def _example(row: pd.Series) -> Example:
    """Describe a head by its row of `roles.csv`."""
    share = f"{row['value']:.0%}"
    remark = {
        "rare": f"maxima on the two rarest pieces: {share}",
        "positional": f"maxima at offset {role_name(row['role'])}: {share}",
        "syntactic": f"{role_words(row['role'])}: {share} (fixed offset: {row['baseline']:.0%})",
    }[row["kind"]]
    return Example(int(row["layer"]), int(row["head"]), remark)
