from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pruned_runs import run
from role_tables import role
from sparse_study import RUNS, measured, paper, texts

from headcount.figures.positional_confidence import _figure
from headcount.figures.style import PAPER, look, paper_style

LINKS = pd.DataFrame(
    [
        *measured("baseline", "offset_-1", [[0.1, 0.8], [0.2, 0.3]]),
        *measured("entmax_alpha", "offset_-1", [[0.1, 0.2], [0.9, 0.3]]),
        *measured("entmax_alpha", "offset_-1", [[1.0, 1.0], [1.0, 1.0]], "decoder_self"),
        *measured("entmax_alpha", "offset_+1", [[0.4, 0.5], [0.6, 0.7]]),
        *measured("entmax_alpha", "merging", [[0.9, 0.9], [0.9, 0.9]]),
    ]
)
ALPHA = pd.DataFrame(measured("entmax_alpha", "alpha", [[1.1, 1.2], [1.91, 1.3]]))
ROLES = pd.DataFrame(
    [
        role("baseline-s1", 0, 1, "-1"),
        role("entmax_alpha-s1", 1, 0, "-1"),
        role("entmax_alpha-s1", 1, 1, "-1"),
        role("entmax_alpha-s1", 0, 0, "-1", named=0),
        role("entmax_alpha-s1", 0, 1, "-1", labels="shuffled"),
    ]
)


def figure_of(runs: list[object], *tables: pd.DataFrame, numbers: pd.DataFrame | None = None) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), *tables, paper=paper("figure7") if numbers is None else numbers)


def test_the_most_confident_encoder_head_is_named_with_its_alpha() -> None:
    left, right = figure_of(RUNS, LINKS, ALPHA, ROLES).axes
    assert texts(left) == ["1.2: 80.0%", "2.1: 90.0%, α = 1.91"]
    assert texts(right) == ["2.2: 70.0%, α = 1.30"]


def test_positional_heads_are_filled_and_counted_beside_the_papers() -> None:
    axes = figure_of(RUNS, LINKS, ALPHA, ROLES).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "softmax\npositional: 1\npaper: 3",
        "α-entmax\npositional: 2\npaper: 4",
    ]
    colour = look("entmax_alpha").colour
    filled, hollow = [line for line in axes.lines if line.get_color() == colour]
    assert sorted(filled.get_ydata()) == [0.3, 0.9]
    assert (sorted(hollow.get_ydata()), hollow.get_markerfacecolor()) == ([0.1, 0.2], "white")
    medians = [list(line.get_ydata()) for line in axes.lines if line.get_color() == PAPER]
    assert medians == [pytest.approx([0.935] * 2), pytest.approx([0.959] * 2)]


def test_without_roles_all_heads_are_filled_and_none_is_counted() -> None:
    axes = figure_of(RUNS, LINKS, ALPHA, ROLES.iloc[:0], numbers=paper("figure7").iloc[:0]).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["softmax", "α-entmax"]
    colour = look("entmax_alpha").colour
    filled, hollow = [line for line in axes.lines if line.get_color() == colour]
    assert (len(filled.get_ydata()), len(hollow.get_ydata())) == (4, 0)


def test_seeds_stand_side_by_side() -> None:
    runs = [*RUNS, run("entmax_alpha-s2", "entmax_alpha", seed=2)]
    second = LINKS[LINKS["method"] == "entmax_alpha"].assign(run="entmax_alpha-s2")
    axes = figure_of(runs, pd.concat([LINKS, second], ignore_index=True), ALPHA, ROLES).axes[0]
    first, _, other, _ = [line for line in axes.lines if line.get_color() == look("entmax_alpha").colour]
    assert max(first.get_xdata()) < 1 < min(other.get_xdata(), default=1.5)
    rings = [line for line in axes.lines if line.get_markersize() == 7]
    assert len(rings) == 3


def test_without_sparse_attention_the_figure_says_so() -> None:
    figure = figure_of(RUNS[:1], LINKS, ALPHA, ROLES)
    assert [text.get_text() for text in figure.texts] == ["no sparse attention was measured at offsets"]
