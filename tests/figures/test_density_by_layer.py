from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from pruned_runs import run
from sparse_study import RUNS, measured, paper, texts

from headcount.figures.density_by_layer import _figure, ranked
from headcount.figures.style import PAPER, paper_style

DENSITY = [[0.2, 0.6], [0.5, 0.1]]
TABLE = pd.DataFrame(
    [
        *measured("baseline", "density", [[1, 1], [1, 1]]),
        *measured("entmax15", "density", DENSITY),
        *measured("entmax15", "entropy", [[3, 3], [3, 3]]),
    ]
)


def figure_of(runs: list[object], table: pd.DataFrame, numbers: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), table, numbers)


def test_heads_are_sorted_within_their_layer() -> None:
    rows = TABLE[(TABLE["method"] == "entmax15") & (TABLE["measure"] == "density")]
    assert ranked(rows).tolist() == [[0.6, 0.2], [0.5, 0.1]]


def test_lines_join_equal_ranks_and_the_means() -> None:
    axes = figure_of(RUNS, TABLE, paper("figure5").iloc[:0]).axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [
        [0.6, 0.5],
        [0.2, 0.1],
        pytest.approx([0.4, 0.3]),
    ]
    spread = np.std(DENSITY)
    assert f"mean 0.35, sd over the heads {spread:.2f}" in texts(axes)


def test_layers_of_the_paper_are_stretched_over_ours() -> None:
    axes = figure_of(RUNS, TABLE, paper("figure5")).axes[0]
    (grey,) = [line for line in axes.lines if line.get_color() == PAPER]
    assert list(grey.get_xdata()) == pytest.approx([1, 1.2, 1.4, 1.6, 1.8, 2])
    assert list(grey.get_ydata()) == [0.07, 0.1, 0.24, 0.27, 0.25, 0.2]
    assert "paper: mean 0.19, sd over the heads 0.16" in texts(axes)


def test_only_the_first_seed_of_the_main_corpus_is_drawn() -> None:
    runs = [*RUNS, run("entmax15-s2", "entmax15", seed=2), run("x-entmax15-s1", "entmax15", corpus="x")]
    others = [TABLE.assign(run="entmax15-s2", value=0.9), TABLE.assign(run="x-entmax15-s1", corpus="x", value=0.9)]
    figure = figure_of(runs, pd.concat([TABLE, *others]), paper("figure5").iloc[:0])
    assert max(max(line.get_ydata()) for line in figure.axes[0].lines) == 0.6
    assert figure.get_suptitle() == "en-de, seed 1"


def test_without_sparse_attention_the_figure_says_so() -> None:
    figure = figure_of(RUNS[:1], TABLE, paper("figure5"))
    assert [text.get_text() for text in figure.texts] == ["no run with sparse attention was observed"]
