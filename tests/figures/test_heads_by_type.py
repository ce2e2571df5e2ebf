from __future__ import annotations

import pandas as pd
import pytest
from pruned_runs import KINDS, gated, paper, run

from headcount.figures.heads_by_type import STYLES, _figure
from headcount.figures.style import PAPER, paper_style

RUNS = [
    run("baseline-s1", "baseline"),
    gated("all", 0.1, (0, 2, 4), 15.0),
    run("l0-all-12h-s1", "l0", (2, 4, 6), 19.7, scope="all", setting="target 12 heads"),
    run("random-all-0.1-s1", "random", (0, 2, 4), 11.0, scope="all", setting="λ=0.1"),
    gated("encoder", 0.1, (1, 8, 8), 18.0),
]


def test_shares_are_sorted_by_sparsity() -> None:
    with paper_style():
        ours, papers = _figure(pd.DataFrame(RUNS), paper("figure9")).axes
    expected = {"encoder": [1, 2 / 8, 0], "decoder_self": [1, 4 / 8, 2 / 8], "decoder_cross": [1, 6 / 8, 4 / 8]}
    for kind, (colour, _) in STYLES.items():
        (line,) = [line for line in ours.lines if line.get_color() == colour and line.get_marker() != "None"]
        assert line.get_xdata() == pytest.approx([0, 12 / 24, 18 / 24])
        assert line.get_ydata() == pytest.approx(expected[kind])
    assert ours.get_xlabel() == "heads pruned (of 24)"
    assert papers.get_xlabel() == "heads pruned (of 144)"


def test_the_papers_models_stand_in_grey() -> None:
    with paper_style():
        papers = _figure(pd.DataFrame(RUNS), paper("figure9")).axes[-1]
    curves = [line for line in papers.lines if line.get_color() == PAPER]
    assert len(curves) == 2 * len(KINDS)
    for curve in curves:
        assert (curve.get_xdata()[0], curve.get_ydata()[0]) == (0, 1)
        assert list(curve.get_xdata()) == sorted(curve.get_xdata())
    sparsest = [curve.get_ydata()[-1] for curve in curves[:3]]
    assert sparsest == pytest.approx([5 / 48, 9 / 48, 12 / 48])
    assert curves[0].get_xdata()[-1] == pytest.approx(118 / 144)


def test_several_seeds_have_error_bars_and_one_point() -> None:
    seeds = [*RUNS[:2], {**RUNS[1], "run": "l0-all-0.1-s2", "seed": 2, "heads_encoder": 4, "heads": 10}]
    with paper_style():
        ours = _figure(pd.DataFrame(seeds), paper("figure9").iloc[:0]).axes[0]
    colour, _ = STYLES["encoder"]
    (line,) = [line for line in ours.lines if line.get_color() == colour and line.get_marker() != "None"]
    assert line.get_ydata() == pytest.approx([1, 2 / 8])


def test_without_gates_in_all_attentions_the_figure_says_so() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame([RUNS[0], RUNS[-1]]), paper("figure9"))
    assert [text.get_text() for text in figure.texts] == ["no model was pruned with gates in all attentions"]
