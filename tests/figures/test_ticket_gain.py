from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pruned_runs import run

from headcount.figures.equal_heads import contests
from headcount.figures.style import look, paper_style
from headcount.figures.ticket_gain import _figure, gains

NO_CURVES = pd.DataFrame(columns=["run", "metric", "update", "value"])


def kept(method: str, seed: int, bleu: float, heads: int = 12, variant: str = "") -> Any:
    asked = {"target_heads": heads, "scope": "all", "seed": seed, "variant": variant}
    return run(f"{variant}{method}-{heads}-s{seed}", method, (2, 4, 6), bleu, **asked)


RUNS = [
    *(run(f"baseline-s{seed}", "baseline", seed=seed) for seed in (1, 2)),
    *(kept("ticket", seed, 18.0 + seed) for seed in (1, 2, 3)),
    *(kept("reinit", seed, 17.0 + 2 * seed) for seed in (1, 2)),
    *(kept("ticket", seed, 15.0, variant="random") for seed in (1, 2)),
]


def test_gains_are_taken_seed_by_seed() -> None:
    contest = contests(pd.DataFrame(RUNS))[0]
    ticket, control = contest.arms(["ticket", "reinit"])
    assert gains(ticket, control)[12].to_dict() == {1: 0.0, 2: -1.0}


def test_each_control_has_its_mean_and_the_single_seeds() -> None:
    with paper_style():
        (axes,) = _figure(pd.DataFrame(RUNS), NO_CURVES).axes
    of = [line for line in axes.lines if line.get_color() == look("ticket", "random").colour]
    assert of[0].get_ydata() == pytest.approx([4.5])
    assert sorted(of[-1].get_ydata()) == pytest.approx([4.0, 5.0])
    zero = [line for line in axes.lines if list(line.get_ydata()) == [0, 0]]
    assert len(zero) == 1


def bars(axes: Any, control: str) -> Any:
    """Return the ends of the error bars of a control."""
    (found,) = [bar for bar in axes.containers if bar.lines[0].get_color() == look(*control.split("-")).colour]
    return [segment[:, 1].tolist() for segment in found.lines[2][0].get_segments()]


def test_one_seed_has_the_interval_of_the_paired_bootstrap() -> None:
    own = {"partner": "ticket-12-s1", "partner_low": -1.5, "partner_high": 0.25}
    rows = [RUNS[0], kept("ticket", 1, 19.0), kept("reinit", 1, 18.5) | own, kept("ticket", 1, 18.0, variant="random")]
    with paper_style():
        (axes,) = _figure(pd.DataFrame(rows), NO_CURVES).axes
    assert bars(axes, "reinit") == [[-0.25, 1.5]]
    assert bars(axes, "ticket-random") == [[1.0, 1.0]], "nobody resampled these two"


def test_an_interval_against_another_run_is_not_taken() -> None:
    own = {"partner": "ticket-18-s1", "partner_low": -1.5, "partner_high": 0.25}
    with paper_style():
        rows = [RUNS[0], kept("ticket", 1, 19.0), kept("reinit", 1, 18.5) | own]
        (axes,) = _figure(pd.DataFrame(rows), NO_CURVES).axes
    assert bars(axes, "reinit") == [[0.5, 0.5]]


def test_several_seeds_have_their_spread_and_not_the_interval_of_one() -> None:
    own = {"partner_low": -9.0, "partner_high": 9.0}
    rows = [row | own | {"partner": f"ticket-12-s{row['seed']}"} if row["method"] == "reinit" else row for row in RUNS]
    with paper_style():
        (axes,) = _figure(pd.DataFrame(rows), NO_CURVES).axes
    assert bars(axes, "reinit") == [pytest.approx([-0.5 - 0.5**0.5, -0.5 + 0.5**0.5])]


def test_a_ticket_without_controls_has_nothing_to_be_ahead_of() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame(RUNS[:5]), NO_CURVES)
    assert [text.get_text() for text in figure.texts] == ["no lottery ticket has a control"]
