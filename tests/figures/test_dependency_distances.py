from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from pruned_runs import paper
from role_tables import write

from headcount.figures.dependency_distances import FARTHEST, _figure, draw
from headcount.figures.style import paper_style

NEAR = {-1: 4, 2: 1, -30: 3, -9: 2}
"""The far offsets are more when summed up, but none of them is the mode."""


def relations(**corpora: dict[str, dict[int, int]]) -> pd.DataFrame:
    rows = [
        (corpus.replace("_", "-"), relation, offset, count)
        for corpus, counted in corpora.items()
        for relation, counts in counted.items()
        for offset, count in counts.items()
    ]
    return pd.DataFrame(rows, columns=["corpus", "relation", "offset", "count"])


def figure_of(table: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(table, paper("figure3"))


def bars(axes: Axes) -> dict[int, float]:
    rectangles = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in rectangles}


def test_shares_sum_to_one_and_the_mode_is_a_single_offset() -> None:
    (axes,) = figure_of(relations(en_de={"nsubj": NEAR})).axes
    assert bars(axes) == pytest.approx({-FARTHEST: 0.5, -1: 0.4, 2: 0.1})
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["−1: 40%", "10 cases"]
    assert axes.texts[0].xy == pytest.approx((-1, 0.4))


def test_one_row_for_each_corpus_and_one_panel_for_each_relation() -> None:
    both = {"nsubj": NEAR, "dobj": {2: 1}}
    figure = figure_of(relations(en_de=both, en_fr={"nsubj": {1: 3}, "dobj": {1: 1, 2: 3}}))
    assert len(figure.axes) == 4
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == [
        "nsubj (verb → subject)",
        "dobj (verb → object)",
    ]
    assert [figure.axes[row].get_ylabel() for row in (0, 2)] == ["en-de\nshare", "en-fr\nshare"]
    assert bars(figure.axes[3]) == pytest.approx({1: 0.25, 2: 0.75})


def test_lines_are_the_papers_shares() -> None:
    known, unknown = figure_of(relations(en_de={"nsubj": NEAR, "det": {1: 1}})).axes
    heights = [line.get_ydata()[0] for line in known.lines if line.get_ydata()[0] == line.get_ydata()[1]]
    assert heights == pytest.approx([0.35, 0.45])
    assert len(unknown.lines) == len(known.lines) - 2


def test_a_relation_that_never_occurs_is_an_empty_panel() -> None:
    _, empty = figure_of(relations(en_de={"nsubj": NEAR, "dobj": {1: 0}})).axes
    assert bars(empty) == {}
    assert [text.get_text() for text in empty.texts] == ["0 cases"]


def test_without_parses_the_figure_says_so(tmp_path: Path) -> None:
    write(tmp_path, relations=relations())
    draw(tmp_path, tmp_path / "distances.svg")
    assert (tmp_path / "distances.svg").stat().st_size < 40_000
    assert [text.get_text() for text in figure_of(relations()).texts] == ["no corpus of this study has parses"]
