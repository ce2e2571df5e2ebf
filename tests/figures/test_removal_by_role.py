from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from matplotlib.lines import Line2D
from pruned_runs import gated, run

from headcount.figures.groups import groups
from headcount.figures.removal_by_role import _delta, _figure
from headcount.figures.style import look, paper_style

LEFT = {"scope": "encoder", "heads": (5, 8, 8)}


def removed(select: str, bleu: float, p_value: float, **others: Any) -> Any:
    return run(f"{select}-encoder-s1", select, bleu=bleu, p_value=p_value, **{**LEFT, **others})


RUNS = [
    run("baseline-s1", "baseline"),
    gated("encoder", 0.0, (8, 8, 8), 20.4),
    gated("encoder", 0.1, (3, 8, 8), 19.0),
    removed("unnamed", 19.8, 0.3),
    removed("named", 16.0, 0.001),
    run("en-fr-baseline-s1", "baseline", corpus="en-fr"),
]


def point(figure: Any, method: str) -> Line2D:
    (found,) = [
        line
        for line in figure.axes[0].lines
        if line.get_color() == look(method).colour and line.get_marker() == look(method).marker
    ]
    return found


def test_changes_stand_beside_the_dense_model() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame(RUNS))
    for method, change, filled in (("l0", 0.4, False), ("unnamed", -0.2, False), ("named", -4.0, True)):
        found = point(figure, method)
        assert found.get_xdata() == pytest.approx([change])
        assert (found.get_markerfacecolor() == look(method).colour) == filled
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["en-de\n\N{MINUS SIGN}3 of 8 heads"]


def test_an_interval_of_the_paired_difference_comes_first() -> None:
    rows = [RUNS[0], removed("named", 16.0, 0.001, bleu_delta_low=-4.3, bleu_delta_high=-3.6)]
    dense, named = groups(pd.DataFrame(rows))
    assert (_delta(named, dense).low, _delta(named, dense).high) == (-4.3, -3.6)


def test_without_one_the_scores_count_as_independent() -> None:
    dense, named = groups(pd.DataFrame([RUNS[0], removed("named", 16.0, 0.001)]))
    value = _delta(named, dense)
    assert (value.low, value.high) == pytest.approx((-4 - math.hypot(1, 2), -4 + math.hypot(2, 1)))


def test_several_seeds_give_their_spread() -> None:
    second = {"run": "named-encoder-s2", "seed": 2, "bleu": 15.0, "bleu_delta": -5.0}
    rows = [RUNS[0], RUNS[4], {**RUNS[4], **second}]
    dense, named = groups(pd.DataFrame(rows))
    value = _delta(named, dense)
    assert (value.centre, value.seeds) == (-4.5, 2)
    assert value.error == pytest.approx((0.5**0.5, 0.5**0.5))


def test_without_removals_the_figure_says_so() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame(RUNS[:3]))
    assert [text.get_text() for text in figure.texts] == ["no run removed heads by their role"]
