"""Batches hold every sentence once, respect the budget and waste little."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.packing import pack, useful_share

lengths = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=60)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([s for s, _ in pairs], dtype=np.int64), np.array([t for _, t in pairs], dtype=np.int64)


@settings(max_examples=200)
@given(lengths, st.integers(1, 60), st.integers(0, 3))
def test_every_sentence_once_and_within_budget(pairs: list[tuple[int, int]], budget: int, seed: int) -> None:
    source, target = arrays(pairs)
    batches = pack(source, target, budget, np.random.default_rng(seed))
    assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(pairs)))
    for batch in batches:
        longest = max(source[batch].max(), target[batch].max())
        assert len(batch) * longest <= budget or len(batch) == 1


@given(lengths, st.integers(1, 60))
def test_the_number_of_batches_does_not_depend_on_chance(pairs: list[tuple[int, int]], budget: int) -> None:
    shapes = []
    for seed in range(3):
        source, target = arrays(pairs)
        batches = pack(source, target, budget, np.random.default_rng(seed))
        shapes.append(sorted((len(b), int(source[b].max()), int(target[b].max())) for b in batches))
    assert shapes[0] == shapes[1] == shapes[2]


def test_little_padding_on_lengths_like_those_of_real_text() -> None:
    rng = np.random.default_rng(1)
    source = 2 + rng.poisson(8, size=8000)
    target = np.maximum(2, source + np.rint(rng.normal(0, 2.5, size=8000)).astype(np.int64))
    for budget in (700, 1000, 4000):
        batches = pack(source, target, budget, np.random.default_rng(0))
        assert useful_share(source, target, batches) >= 0.88


def test_useful_share_counts_both_sides() -> None:
    source, target = arrays([(2, 4), (4, 4)])
    assert useful_share(source, target, [np.array([0, 1])]) == 14 / 16
