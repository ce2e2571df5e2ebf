from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pruned_runs import run

from headcount.figures.round_speed import _figure, relative
from headcount.figures.style import look, paper_style


def timed(method: str, seed: int, heads: int, seconds: float, **others: Any) -> Any:
    """Return a run that was left with some heads after updates of so many seconds."""
    known = {"variant": "", "scope": "all", "seconds_per_update": seconds, "seed": seed}
    return run(f"{method}-{heads}-s{seed}", method, (heads, 0, 0), **{**known, **others})


RUNS = pd.DataFrame(
    [
        *(timed("baseline", seed, 8, 0.1 * seed) for seed in (1, 2)),
        *(timed("round", seed, 4, 0.1 * seed) for seed in (1, 2)),
        *(timed("round", seed, 0, 0.06 * seed + 0.01) for seed in (1, 2)),
        *(timed("ticket", seed, 4, 0.08 * seed) for seed in (1, 2)),
        timed("round", 1, 2, 0.5, variant="michel"),
    ]
)
ROUNDS = pd.DataFrame(
    [
        {"run": f"round-{left}-s{seed}", "corpus": "en-de", "variant": "", "parent_normaliser": "softmax", "head": head}
        for seed in (1, 2)
        for left in (4, 0)
        for head in range(left + 4)
    ]
).assign(attention="encoder")


def test_a_round_is_timed_with_the_heads_that_it_had() -> None:
    table = relative(RUNS, ROUNDS)
    shares = table.groupby(["method", "heads"])["share"].mean()
    assert shares["baseline", 8] == 1
    assert shares["round", 8] == pytest.approx(1)
    assert shares["round", 4] == pytest.approx((0.7 + 0.65) / 2)
    assert shares["ticket", 4] == pytest.approx(0.8)
    assert len(table) == 8


def test_rounds_and_tickets_are_drawn_over_the_heads_of_the_model() -> None:
    with paper_style():
        (axes,) = _figure(RUNS, ROUNDS).axes
    first = next(line for line in axes.lines if line.get_color() == look("round").colour and line.get_marker() == "d")
    assert list(first.get_xdata()) == pytest.approx([4, 8])
    assert first.get_ydata() == pytest.approx([0.675, 1])
    assert axes.get_title(loc="left") == "dense: 150 ms an update"


def test_rounds_that_were_not_timed_are_not_drawn() -> None:
    with paper_style():
        figure = _figure(RUNS.assign(seconds_per_update=None), ROUNDS)
    assert [text.get_text() for text in figure.texts] == ["no lottery round was timed"]
