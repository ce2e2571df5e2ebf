"""Attention maps of a sentence by softmax, 1.5-entmax and α-entmax, zeros marked (correia2019, figures 1 and 8 to 10).

Main corpus, the models of the first seed. In the first rows the best head of each model: the encoder heads that bind
the pieces of a word, and that look from a question word at the question mark, and the most confident head of the
cross-attention. Last row: the α-entmax encoder head whose density varies most between sentences, in some of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from headcount.figures.groups import of_main, read
from headcount.figures.maps import PIECE_INCHES, WORD_START, draw_map, scale, write_above
from headcount.figures.style import GREY, PAGE_INCHES, nothing_to_draw, paper_style, save
from headcount.figures.variants import LEARNED, SOFTMAX, best, dense, drawn, first_seed, label, of_runs, variants

HEAD = ["run", "attention", "layer", "head"]
LEFT_INCHES = 0.8
RIGHT_INCHES = 0.1
GAP_INCHES = 0.72
TOP_INCHES = 0.7
BETWEEN_INCHES = 0.95
BOTTOM_INCHES = 0.98
COLUMNS = 3
"""Columns of the last row, and the least whose width the maps get."""


@dataclass(frozen=True)
class Panel:
    """One map: the cells of a head in a sentence, and what is written above it."""

    title: str
    remark: str
    cells: pd.DataFrame
    sparse: bool


def draw(tables: Path, out: Path) -> None:
    """Read four tables, named below, and write the figure to `out` (SVG) and beside it as PDF."""
    names = ("runs", "maps", "observations", "links")
    with paper_style():
        save(_figure(*(read(tables, name) for name in names)), out)


def _figure(runs: pd.DataFrame, maps: pd.DataFrame, measures: pd.DataFrame, links: pd.DataFrame) -> Figure:
    models = first_seed(dense(of_main(runs, runs)))
    models = models[models["run"].isin(maps["run"])]
    if not set(models["method"]) - {SOFTMAX}:
        return nothing_to_draw("no map of a sparse attention was kept")
    maps, measures, links = (of_runs(table, models) for table in (maps, measures, links))
    measures = pd.concat([measures, links]).dropna(subset="head").astype({"head": int})
    found = [panels(models, maps, measures) for panels in (_merging, _asking, _crossing, _varying)]
    rows = {title: panels for title, panels in zip(TITLES, found, strict=True) if panels}
    return _drawn(rows, drawn(runs, models))


TITLES = (
    "encoder head that binds the pieces of a word best",
    "encoder head that looks most from the question word at the question mark",
    "most confident head of the cross-attention",
    "one α-entmax head, sentences from dense to sparse",
)

QUESTION_MARKS = ("?", "？")


def _merging(models: pd.DataFrame, maps: pd.DataFrame, measures: pd.DataFrame) -> list[Panel]:
    """Show each model's best merging head in the sentence with most pieces inside words."""
    maps = maps[maps["attention"] == "encoder"]
    inside = ~maps["key_token"].str.startswith(WORD_START) & maps["key_token"].str.isalnum()
    counts = maps[inside].groupby("sentence")["key"].nunique()
    if counts.empty:
        return []
    return _one_each(models, maps[maps["sentence"] == counts.idxmax()], measures, "merging", "score")


def _asking(models: pd.DataFrame, maps: pd.DataFrame, measures: pd.DataFrame) -> list[Panel]:
    """Show each model's best interrogation head in the first question."""
    maps = maps[maps["attention"] == "encoder"]
    questions = maps.loc[maps["key_token"].str.removeprefix(WORD_START).isin(QUESTION_MARKS), "sentence"]
    if questions.empty:
        return []
    return _one_each(models, maps[maps["sentence"] == questions.iloc[0]], measures, "interrogation", "mean weight")


def _crossing(models: pd.DataFrame, maps: pd.DataFrame, measures: pd.DataFrame) -> list[Panel]:
    """Show each model's most confident cross-attention head in the longest sentence."""
    maps = maps[maps["attention"] == "decoder_cross"]
    if maps.empty:
        return []
    longest = maps.groupby("sentence")["key"].nunique().idxmax()
    return _one_each(models, maps[maps["sentence"] == longest], measures, "confidence", "confidence")


def _one_each(models: pd.DataFrame, maps: pd.DataFrame, measures: pd.DataFrame, measure: str, name: str) -> list[Panel]:
    """Return for each model the map of the head with the largest value of a measure."""
    panels = []
    for method in variants(models):
        run = models.loc[models["method"] == method, "run"].iloc[0]
        cells = maps[maps["run"] == run]
        values = measures[(measures["run"] == run) & (measures["measure"] == measure)]
        values = values[values["attention"].isin(cells["attention"])]
        if values.empty or cells.empty:
            continue
        head = best(values)
        remark = f"{_alpha(head, measures)}{name} {head['value']:.0%}"
        panels.append(Panel(f"{label(method)}: {_where(head)}", remark, _of(cells, head), method != SOFTMAX))
    return panels


def _varying(models: pd.DataFrame, maps: pd.DataFrame, measures: pd.DataFrame) -> list[Panel]:
    """Show the encoder head of learned α whose density varies most, in all its sentences."""
    learned = models[models["method"] == LEARNED]
    values = of_runs(measures, learned)
    values = values[(values["measure"] == "density_sd") & (values["attention"] == "encoder")]
    if values.empty:
        return []
    head = best(values)
    sentences = [cells for _, cells in _of(maps, head).groupby("sentence")]
    sentences.sort(key=_density, reverse=True)
    return [
        Panel(_where(head), f"{_alpha(head, measures)}density {_density(cells):.0%}", cells, sparse=True)
        for cells in sentences[:COLUMNS]
    ]


def _of(maps: pd.DataFrame, head: pd.Series) -> pd.DataFrame:
    """Return the cells of a head."""
    return maps[(maps[HEAD] == head[HEAD]).all(axis=1)]


def _density(cells: pd.DataFrame) -> float:
    return float((cells["weight"] > 0).mean())


def _where(head: pd.Series) -> str:
    return f"layer {head['layer'] + 1}, head {head['head'] + 1}"


def _alpha(head: pd.Series, measures: pd.DataFrame) -> str:
    """Say which α a head has learned, if it has."""
    found = measures[(measures["measure"] == "alpha") & (measures[HEAD] == head[HEAD]).all(axis=1)]
    return "" if found.empty else f"α = {found['value'].iloc[0]:.2f}, "


def _drawn(rows: dict[str, list[Panel]], remark: str) -> Figure:
    """Draw rows of maps, each row as high as its longest sentence."""
    if not rows:
        return nothing_to_draw("no map of a sparse attention was kept")
    columns = max(COLUMNS, *map(len, rows.values()))
    width = (PAGE_INCHES - LEFT_INCHES - RIGHT_INCHES + GAP_INCHES) / columns - GAP_INCHES
    heights = [PIECE_INCHES * max(_queries(panel) for panel in panels) for panels in rows.values()]
    height = TOP_INCHES + sum(heights) + BETWEEN_INCHES * (len(rows) - 1) + BOTTOM_INCHES
    figure = Figure(figsize=(PAGE_INCHES, height))
    looks: dict[str, Any] = {"va": "top", "color": GREY}
    figure.text(0.01, 1 - 0.06 / height, remark, **looks)
    top, zeros = height - TOP_INCHES, False
    for (title, panels), inches in zip(rows.items(), heights, strict=True):
        for column, panel in enumerate(panels):
            left, tall = LEFT_INCHES + column * (width + GAP_INCHES), PIECE_INCHES * _queries(panel)
            axes = figure.add_axes((left / PAGE_INCHES, (top - tall) / height, width / PAGE_INCHES, tall / height))
            zeros |= draw_map(axes, panel.cells, width, sparse=panel.sparse, labelled=True)
            write_above(axes, panel.title, rise=11, fontsize=6.5)
            write_above(axes, panel.remark, rise=3, fontsize=5.8, color=GREY)
            if column == 0:
                write_above(axes, title, rise=23, shift=4 - 72 * LEFT_INCHES, weight="bold")
        top -= inches + BETWEEN_INCHES
    scale(figure, LEFT_INCHES, zeros=zeros)
    return figure


def _queries(panel: Panel) -> int:
    return int(panel.cells["query"].max()) + 1
