from __future__ import annotations

import pytest
from timed_runs import CEILINGS, CONDITIONS, SPEEDUPS, runs, speeds

from headcount.figures.pruned_speed import CEILINGS as STROKES
from headcount.figures.pruned_speed import _figure, conditions, timed
from headcount.figures.style import look, paper_style


def test_conditions_come_in_order_whatever_the_study_lists_first() -> None:
    assert [one.label for one in conditions(speeds(*CONDITIONS))] == [
        *("greedy, batch 1", "greedy, batch 32"),
        *("beam 4, batch 1", "beam 4, batch 32"),
    ]
    untold = speeds((4, 32)).assign(beam=float("nan"))
    assert conditions(untold) == []


def test_models_that_share_a_time_stand_for_one() -> None:
    assert [group.first_run for group in timed(runs(), speeds((4, 32)), "en-de")] == list(SPEEDUPS)


def test_a_panel_for_each_condition_with_measured_points_and_the_ceiling() -> None:
    with paper_style():
        figure = _figure(runs(), speeds(*CONDITIONS))
    assert len(figure.axes) == 4
    for axes in figure.axes:
        assert axes.get_xlim()[0] > axes.get_xlim()[1]
        dashes = [line for line in axes.lines if len(line.get_xdata()) > 1 and line.get_linestyle() == "--"]
        curves = {tuple(line.get_xdata()): list(line.get_ydata()) for line in dashes}
        assert curves[6, 12, 24] == [CEILINGS[f"{name}-s1"] for name in ("ticket-6", "ticket-12", "baseline")]
        tickets = [
            line for line in axes.lines if line.get_color() == look("ticket").colour and line.get_marker() == "D"
        ]
        assert {float(line.get_ydata()[0]) for line in tickets} == {1.3, 1.5}


def test_encoder_heads_have_a_ceiling_of_their_own_and_hollow_points() -> None:
    with paper_style():
        axes = _figure(runs(), speeds((4, 32))).axes[0]
    (gates,) = [line for line in axes.lines if line.get_color() == look("l0").colour and line.get_marker() == "o"]
    assert gates.get_markerfacecolor() == "white"
    ends = {tuple(line.get_ydata()) for line in axes.lines if list(line.get_xdata()) == [18, 24]}
    assert (1.2, 1.0) in ends
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert {label for label, _ in STROKES.values()} <= set(labels)


def test_models_with_equally_many_heads_stand_side_by_side() -> None:
    both = speeds((4, 32))
    both.loc[both["run"] == "reinit-6-s1", "timed_run"] = "reinit-6-s1"
    with paper_style():
        axes = _figure(runs(), both).axes[0]
    places = [
        float(line.get_xdata()[0])
        for line in axes.lines
        if line.get_marker() in ("D", "s") and abs(float(line.get_xdata()[0]) - 6) < 1
    ]
    assert len(set(places)) == 2
    assert sum(places) / 2 == pytest.approx(6)


def test_without_pruned_models_the_figure_says_so() -> None:
    dense = runs()[lambda table: table["method"] == "baseline"]
    with paper_style():
        figure = _figure(dense, speeds((4, 32)))
    assert not figure.axes
    assert "no pruned model" in figure.texts[0].get_text()
