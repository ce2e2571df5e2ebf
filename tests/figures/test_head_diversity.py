from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pruned_runs import run
from sparse_study import RUNS, paper

from headcount.figures.head_diversity import MEAN, _figure
from headcount.figures.style import PAPER, look, paper_style


def diversity(name: str, method: str, values: list[float], corpus: str = "en-de") -> list[dict[str, object]]:
    place = {"run": name, "corpus": corpus, "method": method, "attention": "encoder", "measure": "diversity"}
    return [{**place, "layer": layer, "head": None, "value": value} for layer, value in enumerate(values)]


TABLE = [*diversity("baseline-s1", "baseline", [0.2, 0.4]), *diversity("entmax15-s1", "entmax15", [0.4, 0.6])]
SECOND = [run("entmax15-s2", "entmax15", seed=2)]


def figure_of(runs: list[object], rows: list[dict[str, object]], numbers: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), pd.DataFrame(rows), numbers)


def test_lines_are_means_over_the_seeds() -> None:
    rows = [*TABLE, *diversity("entmax15-s2", "entmax15", [0.6, 0.8])]
    axes = figure_of([*RUNS, *SECOND], rows, paper("figure6").iloc[:0]).axes[0]
    colour = look("entmax15").colour
    line, mean = [line for line in axes.lines if line.get_color() == colour and line.get_marker() == "^"]
    assert list(line.get_xdata()) == [1, 2]
    assert list(line.get_ydata()) == pytest.approx([0.5, 0.7])
    assert list(mean.get_xdata()) == [2 + MEAN]
    assert list(mean.get_ydata()) == pytest.approx([0.6])


def test_the_papers_means_stand_beside_its_own_languages() -> None:
    figure = figure_of(RUNS, TABLE, paper("figure6"))
    grey = [line for line in figure.axes[0].lines if line.get_color() == PAPER]
    assert [list(line.get_ydata()) for line in grey] == [[0.378], [0.474]]
    assert all(line.get_xdata()[0] > 2 + MEAN for line in grey)
    other = [{**row, "corpus": "help"} for row in TABLE]
    figure = figure_of([{**row, "corpus": "help"} for row in RUNS], other, paper("figure6"))
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "2", "mean"]


def test_corpora_without_sparse_attention_are_left_out() -> None:
    runs = [*RUNS, run("x-baseline-s1", "baseline", corpus="x")]
    rows = [*TABLE, *diversity("x-baseline-s1", "baseline", [0.1, 0.1], corpus="x")]
    assert len(figure_of(runs, rows, paper("figure6")).axes) == 3
    empty = figure_of(RUNS[:1], TABLE, paper("figure6"))
    assert [text.get_text() for text in empty.texts] == ["no run with sparse attention was observed"]
