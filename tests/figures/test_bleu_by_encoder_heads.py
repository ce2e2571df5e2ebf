from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from pruned_runs import gated, paper, run

from headcount.figures.bleu_by_encoder_heads import _figure
from headcount.figures.style import PAPER, look, paper_style

RUNS = [
    run("baseline-s1", "baseline"),
    gated("encoder", 0.0, (8, 8, 8), 20.5),
    gated("encoder", 0.01, (2, 8, 8), 19.0),
    run("l0-encoder-4h-s1", "l0", (4, 8, 8), 19.7, scope="encoder", setting="target 4 heads"),
    run("random-encoder-0.01-s1", "random", (2, 8, 8), 17.0, scope="encoder", setting="λ=0.01"),
    gated("all", 0.02, (1, 5, 8), 15.0),
    run("en-fr-baseline-s1", "baseline", corpus="en-fr"),
    run("en-ja-baseline-s1", "baseline", bleu=9.0, corpus="en-ja"),
    gated("encoder", 0.1, (1, 8, 8), 5.0, corpus="en-ja"),
]


def curve(axes: Axes, method: str, marker: str) -> Line2D:
    (found,) = [line for line in axes.lines if line.get_color() == look(method).colour and line.get_marker() == marker]
    return found


def test_a_panel_for_each_corpus_with_a_pruned_encoder() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame(RUNS), paper("figure7"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["en-de", "en-ja"]
    for axes in figure.axes:
        many, few = axes.get_xlim()
        assert many > few


def test_points_stand_at_their_heads() -> None:
    with paper_style():
        axes = _figure(pd.DataFrame(RUNS), paper("figure7")).axes[0]
    line = curve(axes, "l0", "o")
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([8, 2], [20.5, 19.0])
    wished = curve(axes, "l0", "s")
    assert (list(wished.get_xdata()), wished.get_linestyle()) == ([4], "None")
    null = curve(axes, "random", look("random").marker)
    assert list(null.get_xdata()) == pytest.approx([2], abs=0.2)
    assert [text.get_text() for text in axes.texts] == ["λ = 0"]


def test_the_papers_curves_begin_at_our_dense_model() -> None:
    with paper_style():
        axes = _figure(pd.DataFrame(RUNS), paper("figure7")).axes[1]
    curves = [line for line in axes.lines if line.get_color() == PAPER]
    assert len(curves) == 2
    points = dict(zip(curves[0].get_xdata(), curves[0].get_ydata(), strict=True))
    assert points[8.0] == 9.0
    assert points[12 / 48 * 8] == pytest.approx(9.0 - 0.15)


def test_without_the_papers_numbers_ours_are_drawn() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame(RUNS), paper("figure7").iloc[:0])
    assert not any(line.get_color() == PAPER for axes in figure.axes for line in axes.lines)


def test_without_a_pruned_encoder_the_figure_says_so() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame(RUNS[:1]), paper("figure7"))
    assert [text.get_text() for text in figure.texts] == ["no encoder was pruned with L0 gates"]
