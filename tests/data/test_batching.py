"""Batches are a pure function of seed and position, and padded as the model expects."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.batching import Batch, TokenBatches, make_batch, sorted_batches
from headcount.data.encoded import Encoded
from headcount.data.subword import BOS, EOS, PAD
from headcount.errors import UserError


def corpus(sizes: list[tuple[int, int]]) -> Encoded:
    """Sentence i holds the piece 10 + i, so a row of a batch tells where it came from."""
    sources = [[10 + i] * (source - 1) + [EOS] for i, (source, _) in enumerate(sizes)]
    targets = [[10 + i] * (target - 1) + [EOS] for i, (_, target) in enumerate(sizes)]
    return Encoded.from_lists(sources, targets)


def random_corpus(sentences: int) -> Encoded:
    rng = np.random.default_rng(0)
    return corpus([(int(s), int(t)) for s, t in rng.integers(1, 12, size=(sentences, 2))])


def same(one: Batch, other: Batch) -> bool:
    tensors = ("source", "target_input", "target_output")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in tensors)


def test_a_batch_by_hand() -> None:
    batch = make_batch(corpus([(3, 2), (1, 4), (2, 1)]), [1, 0, 2])
    assert batch.sentences.tolist() == [1, 0, 2]
    assert batch.source.tolist() == [[EOS, PAD, PAD], [10, 10, EOS], [12, EOS, PAD]]
    assert batch.target_output.tolist() == [[11, 11, 11, EOS], [10, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]]
    assert batch.target_input.tolist() == [[BOS, 11, 11, 11], [BOS, 10, PAD, PAD], [BOS, PAD, PAD, PAD]]
    assert batch.target_tokens == 7
    assert batch.source.dtype == batch.target_input.dtype == batch.target_output.dtype == torch.int64


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=12), st.data())
def test_every_sentence_comes_back_from_its_row(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    encoded = corpus(sizes)
    ids = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=8))
    batch = make_batch(encoded, ids)
    for row, index in enumerate(ids):
        source, output, shifted = (t[row].tolist() for t in (batch.source, batch.target_output, batch.target_input))
        target = encoded.target(index).tolist()
        assert [piece for piece in source if piece != PAD] == encoded.source(index).tolist()
        assert [piece for piece in output if piece != PAD] == target
        assert [piece for piece in shifted if piece != PAD] == [BOS, *target[:-1]]


def test_moving_keeps_the_count() -> None:
    batch = make_batch(corpus([(3, 2), (1, 4)]), [0, 1]).to("meta")
    assert batch.source.device.type == batch.target_input.device.type == batch.target_output.device.type == "meta"
    assert batch.target_tokens == 6  # a tensor on `meta` could not be counted


def test_order_is_a_pure_function_of_seed_and_position() -> None:
    encoded = random_corpus(80)
    forward = TokenBatches(encoded, tokens_per_batch=60, seed=3)
    total = 3 * forward.batches_per_epoch
    batches = [forward.at(position) for position in range(total)]
    for position in reversed(range(total)):
        assert same(forward.at(position), batches[position])
    resumed = TokenBatches(encoded, tokens_per_batch=60, seed=3)
    assert all(same(resumed.at(position), batches[position]) for position in range(total - 5, total))


def test_epochs_hold_every_sentence_once_in_another_order() -> None:
    batches = TokenBatches(random_corpus(80), tokens_per_batch=60, seed=3)
    per_epoch = batches.batches_per_epoch
    epochs = [
        [batches.at(epoch * per_epoch + index).sentences.tolist() for index in range(per_epoch)] for epoch in range(3)
    ]
    for epoch, found in enumerate(epochs):
        assert sorted(index for batch in found for index in batch) == list(range(80))
        assert found == [ids.tolist() for ids in batches.epoch(epoch)]
    assert epochs[0] != epochs[1] != epochs[2]


@pytest.mark.parametrize("seed", [-1, 2**70])
def test_any_integer_is_a_seed(seed: int) -> None:
    one = TokenBatches(random_corpus(40), tokens_per_batch=40, seed=seed)
    other = TokenBatches(random_corpus(40), tokens_per_batch=40, seed=seed + 1)
    assert [ids.tolist() for ids in one.epoch(0)] != [ids.tolist() for ids in other.epoch(0)]


def test_a_sentence_beyond_the_budget_is_a_batch_of_its_own() -> None:
    batches = TokenBatches(corpus([(2, 2), (9, 2), (2, 2)]), tokens_per_batch=4, seed=1)
    assert sorted(batches.at(position).sentences.tolist() for position in range(2)) in ([[0, 2], [1]], [[1], [2, 0]])


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(UserError, match="no sentence pairs"):
        TokenBatches(Encoded.from_lists([], []), tokens_per_batch=10, seed=1)


def test_sorted_batches_hold_all_sentences_in_order_of_length() -> None:
    encoded = random_corpus(23)
    batches = sorted_batches(encoded, sentences_per_batch=5)
    order = np.concatenate(batches)
    assert [len(batch) for batch in batches] == [5, 5, 5, 5, 3]
    assert sorted(order.tolist()) == list(range(23))
    assert (np.diff(encoded.source_lengths[order]) >= 0).all()
