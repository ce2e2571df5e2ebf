from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from headcount.errors import UserError
from headcount.heads import Head, Heads, count, flat, full, without
from headcount.pruning.removal import as_many_at_random, by_role, generator, same_counts

DENSE = full(3, 2, 4)
L0: Heads = {
    "encoder": [[1], [], [0, 2, 3]],
    "decoder_self": [[0, 1, 2, 3], []],
    "decoder_cross": [[0, 1, 2, 3], [0, 1, 2, 3]],
}


def table(named: list[tuple[int, int]]) -> list[dict[str, object]]:
    """Encoder heads of `DENSE` that have roles, and a decoder head that must not count."""
    rows = [{"attention": "encoder", "layer": layer, "head": head, "roles": ["-1", "rare"]} for layer, head in named]
    return [*rows, {"attention": "decoder_self", "layer": 0, "head": 0, "roles": ["-1"]}]


DRAWS = [as_many_at_random, same_counts]


def sizes(kept: Heads) -> dict[str, list[int]]:
    """Heads of each layer."""
    return {kind: [len(ids) for ids in layers] for kind, layers in kept.items()}


@pytest.mark.parametrize("seed", range(5))
def test_random_heads_are_as_many_of_each_type(seed: int):
    removed = as_many_at_random(DENSE, L0, generator(seed, "random-all-0.03"))
    assert count(without(DENSE, removed, 4)) == count(L0)
    assert len(set(removed)) == len(removed)


def test_the_draw_belongs_to_seed_and_run():
    draws = [
        as_many_at_random(DENSE, L0, generator(seed, run))
        for seed, run in ((1, "random-all-0.03-s1"), (1, "random-all-0.03-s1"), (1, "random-all-0.1-s1"), (2, "x"))
    ]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]
    assert draws[0] != draws[3]


def test_random_heads_are_hypergeometric_over_layers():
    """4 of 12 encoder heads stay: each with probability 1/3, and in a layer of 4 heads k with probability
    C(4, k) C(8, 4 - k) / C(12, 4)."""
    draws = 4000
    stays = np.zeros((draws, 12))
    chance = generator(1, "many")
    for draw in range(draws):
        kept = without(DENSE, as_many_at_random(DENSE, L0, chance), 4)["encoder"]
        stays[draw] = [head in ids for ids in kept for head in range(4)]
    assert np.allclose(stays.mean(axis=0), 1 / 3, atol=0.04)
    in_layer = np.bincount(stays[:, :4].sum(axis=1).astype(int), minlength=5) / draws
    assert np.allclose(in_layer, np.array([70, 4 * 56, 6 * 28, 4 * 8, 1]) / 495, atol=0.04)


@pytest.mark.parametrize("seed", range(5))
def test_the_decisive_control_has_as_many_heads_in_every_layer(seed: int):
    removed = same_counts(DENSE, L0, generator(seed, "same_counts-18"))
    assert sizes(without(DENSE, removed, 4)) == sizes(L0)
    assert len(set(removed)) == len(removed)


def test_every_set_of_heads_of_a_layer_is_equally_likely_and_layers_are_independent():
    draws, chance = 3000, generator(1, "many")
    first, both = Counter(), Counter()
    for _ in range(draws):
        left = without(DENSE, same_counts(DENSE, L0, chance), 4)["encoder"]
        first[tuple(left[2])] += 1
        both[left[0][0], tuple(left[2])] += 1
    for found, sets in ((first, math.comb(4, 3)), (both, 4 * math.comb(4, 3))):
        assert len(found) == sets  # the heads of the other method among them
        expected = draws / sets
        statistic = sum((number - expected) ** 2 / expected for number in found.values())
        assert statistic < sets - 1 + 4 * math.sqrt(2 * (sets - 1))  # chi-squared: mean plus four standard deviations


@pytest.mark.parametrize("draw", DRAWS)
def test_nothing_and_everything_can_be_kept(draw: Callable[..., list[Head]]):
    assert draw(DENSE, DENSE, generator(1, "x")) == []
    nothing = {kind: [[] for _ in rows] for kind, rows in DENSE.items()}
    assert sorted(draw(DENSE, nothing, generator(1, "x"))) == sorted(flat(DENSE))
    assert draw(nothing, nothing, generator(1, "x")) == []


def test_more_heads_than_exist_cannot_be_kept():
    fewer = {**DENSE, "encoder": [[1], [0, 1, 2, 3], [0, 2, 3]]}
    with pytest.raises(UserError, match="12 encoder heads are to be kept, but only 8 exist"):
        as_many_at_random(fewer, DENSE, generator(1, "x"))
    with pytest.raises(UserError, match="4 encoder layer 0 heads are to be kept, but only 1 exist"):
        same_counts(fewer, DENSE, generator(1, "x"))
    with pytest.raises(UserError, match="4 decoder_self layer 2 heads are to be kept, but only 0 exist"):
        same_counts(DENSE, full(3, 3, 4), generator(1, "x"))


def test_a_type_with_heads_enough_may_still_have_a_layer_with_too_few():
    wide = {**L0, "encoder": [[0, 1], [0, 1, 2, 3], [0, 2, 3]]}
    assert count(without(wide, as_many_at_random(wide, L0, generator(1, "x")), 4)) == count(L0)
    moved = {**L0, "encoder": [[0, 1, 2], [], []]}
    assert as_many_at_random(wide, moved, generator(1, "x"))
    with pytest.raises(UserError, match="3 encoder layer 0 heads are to be kept, but only 2 exist"):
        same_counts(wide, moved, generator(1, "x"))


@pytest.mark.parametrize(
    "named", [[(0, 1), (2, 3), (2, 0)], [(layer, head) for layer in range(3) for head in range(3)]]
)
def test_named_and_unnamed_heads_go_in_equal_numbers(named: list[tuple[int, int]]):
    gone = {select: by_role(DENSE, table(named), select, generator(1, select)) for select in ("named", "unnamed")}
    assert {len(heads) for heads in gone.values()} == {min(len(named), 12 - len(named))}
    assert all(kind == "encoder" for heads in gone.values() for kind, _, _ in heads)
    assert {(layer, head) for _, layer, head in gone["named"]} <= set(named)
    assert not {(layer, head) for _, layer, head in gone["unnamed"]} & set(named)


def test_of_the_larger_group_chance_decides():
    unnamed = [by_role(DENSE, table([(0, 1), (2, 3)]), "unnamed", generator(seed, "x")) for seed in range(40)]
    assert len({tuple(heads) for heads in unnamed}) > 10
    assert len({head for heads in unnamed for head in heads}) == 10  # each of them goes at some time
    assert by_role(DENSE, table([(0, 1), (2, 3)]), "named", generator(7, "x")) == [("encoder", 0, 1), ("encoder", 2, 3)]


@pytest.mark.parametrize("named", [[], [(layer, head) for layer in range(3) for head in range(4)]])
def test_without_either_kind_nothing_goes(named: list[tuple[int, int]], caplog: pytest.LogCaptureFixture):
    for select in ("named", "unnamed"):
        assert by_role(DENSE, table(named), select, generator(1, select)) == []
    assert "no head is removed" in caplog.text
