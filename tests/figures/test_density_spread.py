from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure
from sparse_study import RUNS, measured, texts

from headcount.figures.density_spread import HALF_WIDTH, _figure
from headcount.figures.style import look, paper_style

LINKS = pd.DataFrame(
    [
        *measured("baseline", "density_sd", [[0.0, 0.0]]),
        *measured("entmax15", "density_sd", [[0.1, 0.3]]),
        *measured("entmax_alpha", "density_sd", [[0.05, 0.15]]),
        *measured("entmax_alpha", "merging", [[0.9, 0.9]]),
    ]
)
ALPHA = pd.DataFrame(measured("entmax_alpha", "alpha", [[1.2, 1.6]]))


def figure_of(runs: list[object], links: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), links, ALPHA, paper={"alpha-entmax": 1.33})


def test_heads_stand_at_their_alpha_learned_or_fixed() -> None:
    axes = figure_of(RUNS, LINKS).axes[0]
    points = {line.get_color(): line for line in axes.lines if line.get_linestyle() == "None"}
    assert set(points) == {look("entmax15").colour, look("entmax_alpha").colour}
    learned, fixed = (points[look(method).colour] for method in ("entmax_alpha", "entmax15"))
    assert (list(learned.get_xdata()), list(learned.get_ydata())) == ([1.2, 1.6], [0.05, 0.15])
    assert list(fixed.get_xdata()) == pytest.approx([1.5 - HALF_WIDTH, 1.5 + HALF_WIDTH])
    assert set(texts(axes)) == {"1.5-entmax: mean sd 0.200, least 0.100", "α-entmax: mean sd 0.100, least 0.050"}


def test_the_papers_head_is_marked() -> None:
    figure = figure_of(RUNS, LINKS)
    assert [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_linestyle() == "--"] == [1.33]
    assert figure.legends[0].get_texts()[-1].get_text() == "paper, the head shown: α = 1.33"


def test_without_sparse_attention_the_figure_says_so() -> None:
    figure = figure_of(RUNS[:1], LINKS)
    assert [text.get_text() for text in figure.texts] == ["no run with sparse attention was observed"]
