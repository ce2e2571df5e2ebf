from __future__ import annotations

import pandas as pd
import pytest
from pruned_runs import run

from headcount.figures.rank_stability import _figure, stability
from headcount.figures.style import look, paper_style


def ranked(number: int, scores: list[list[float]], seed: int = 1, variant: str = "") -> pd.DataFrame:
    """Return the rows of a round from the scores of the first heads of each encoder layer."""
    rows = [(layer, head, score) for layer, heads in enumerate(scores) for head, score in enumerate(heads)]
    table = pd.DataFrame(rows, columns=["layer", "head", "score"]).assign(removed=0)
    place = {"run": f"{variant}round-{number}-s{seed}", "corpus": "en-de", "parent_normaliser": "softmax"}
    return table.assign(attention="encoder", round=number, seed=seed, variant=variant, **place)


def test_scores_of_the_heads_that_both_rounds_have_are_compared() -> None:
    rounds = pd.concat([ranked(1, [[1, 2, 3, 9]]), ranked(2, [[10, 20, 30]]), ranked(3, [[3, 2]])])
    found = stability(rounds, [])
    assert {number: value.centre for number, value in found.items()} == pytest.approx({2: 1.0, 3: -1.0})


def test_seeds_are_averaged_and_rounds_without_scores_left_out() -> None:
    seeds = [ranked(1, [[1, 2]]), ranked(2, [[1, 2]]), ranked(1, [[1, 2]], seed=2), ranked(2, [[2, 1]], seed=2)]
    unscored = ranked(1, [[1, 2]], seed=3).assign(score=None)
    (value,) = stability(
        pd.concat([*seeds, unscored, ranked(2, [[1, 2]], seed=3)]).astype({"score": float}), []
    ).values()
    assert (value.centre, value.seeds) == (0.0, 2)


def test_layers_that_differ_say_nothing_of_single_heads() -> None:
    rounds = pd.concat([ranked(1, [[1, 2, 3], [11, 12, 13]]), ranked(2, [[3, 2, 1], [13, 12, 11]])])
    assert stability(rounds, [])[2].centre > 0.5
    assert stability(rounds, ["attention", "layer"])[2].centre == pytest.approx(-1)


def test_equal_scores_have_no_rank() -> None:
    assert stability(pd.concat([ranked(1, [[1, 1]]), ranked(2, [[1, 2]])]), []) == {}


def test_each_variant_has_a_curve() -> None:
    both = [ranked(number, [[1, 2, 3]], variant=variant) for variant in ("random", "") for number in (1, 2)]
    runs = pd.DataFrame([run("baseline-s1", "baseline")])
    with paper_style():
        figure = _figure(runs, pd.concat(both))
    assert len(figure.axes) == 2
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [look("ticket").label, look("ticket", "random").label]


def test_one_round_has_nothing_to_compare_with() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame([run("baseline-s1", "baseline")]), ranked(1, [[1, 2]]))
    assert [text.get_text() for text in figure.texts] == ["no lottery has two rounds that ranked heads"]
