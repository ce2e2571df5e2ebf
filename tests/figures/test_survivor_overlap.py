from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from lottery_tables import tables
from pruned_runs import run

from headcount.figures.equal_heads import contests
from headcount.figures.groups import read
from headcount.figures.style import paper_style
from headcount.figures.survivor_overlap import _figure, blocks, kept_heads, overlap
from headcount.heads import Head

EVERY = frozenset(("encoder", layer, head) for layer in range(2) for head in range(4))


def heads(*places: tuple[int, int]) -> frozenset[Head]:
    return frozenset(("encoder", layer, head) for layer, head in places)


def test_what_two_sets_share_and_what_chance_would_give() -> None:
    found = overlap(heads((0, 0), (0, 1), (1, 0)), heads((0, 1), (1, 1), (1, 2)), EVERY)
    assert found.found == pytest.approx(1 / 3)
    assert found.by_chance == pytest.approx(3 / 8)
    assert found.by_layers == pytest.approx((2 * 1 + 1 * 2) / 4 / 3)
    assert found.layers == pytest.approx((1 + 1) / 3)


def test_chance_is_the_mean_over_all_sets_of_that_size() -> None:
    one = heads((0, 0), (0, 1), (1, 0))
    others = [frozenset(of) for of in combinations(sorted(EVERY), 3)]
    mean = sum(len(one & other) for other in others) / len(others) / 3
    assert overlap(one, others[0], EVERY).by_chance == pytest.approx(mean)


def test_equal_and_empty_sets_share_everything() -> None:
    one = heads((0, 0), (1, 0))
    assert (overlap(one, one, EVERY).found, overlap(one, one, EVERY).layers) == (1, 1)
    assert overlap(frozenset(), frozenset(), EVERY).found == 1


def test_seeds_are_paired_and_others_are_compared_with_the_ticket(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2, 3), sizes=(18,), step=18, variants=("", "michel"))
    runs, kept, curves = (read(folder, name) for name in ("runs", "heads", "curves"))
    (contest,) = contests(runs, curves)
    found = blocks(contest, 18, kept_heads(contest, kept))
    between, same = found.values()
    assert [line.arm.name for line in between][:2] == ["ticket", "ticket-michel"]
    assert "reinit" not in {line.arm.name for line in between}
    assert all(len(line.overlaps) == 3 for line in [*between, *same])
    assert "ticket" not in {line.arm.name for line in same}
    sets = {
        seed: set(kept[(kept["run"] == f"ticket-18-s{seed}") & (kept["kept"] == 1)].iloc[:, 3:6].apply(tuple, axis=1))
        for seed in (1, 2)
    }
    assert between[0].overlaps[0].found == pytest.approx(len(sets[1] & sets[2]) / 18)
    with paper_style():
        (axes,) = _figure(runs, kept, curves).axes
    assert axes.get_yticklabels()[0].get_text() == "between seeds"


def test_one_seed_is_compared_with_the_ticket_only(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(6,), step=18, scope="encoder", variants=("",))
    runs, kept, curves = (read(folder, name) for name in ("runs", "heads", "curves"))
    (contest,) = contests(runs, curves)
    of_scope = kept_heads(contest, kept)
    assert {kind for found in of_scope.values() for kind, _, _ in found} == {"encoder"}
    found = blocks(contest, 6, of_scope)
    assert found["between seeds"] == []
    assert found["with the ticket, same seed"]


def test_without_pruned_models_the_figure_says_so() -> None:
    columns = ["run", "corpus", "method", "attention", "layer", "head", "kept"]
    with paper_style():
        figure = _figure(
            pd.DataFrame([run("baseline-s1", "baseline")]), pd.DataFrame(columns=columns), pd.DataFrame(
                columns=["run", "metric", "update", "value"]
            ),
        )  # fmt: skip
    assert [text.get_text() for text in figure.texts] == ["no two models chose as many heads"]
