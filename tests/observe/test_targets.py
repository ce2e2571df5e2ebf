"""The control's targets: as many as the true ones, never among them, and a function of the sentence alone."""

from __future__ import annotations

import torch
from hand_made import labels, one_hot, seen, tokens
from hypothesis import given
from hypothesis import strategies as st

from headcount.observe.targets import noise, shuffled, targets


@given(st.integers(0, 1000), st.integers(1, 7))
def test_shuffled_targets_are_others_and_as_many(seed: int, keys: int):
    generator = torch.Generator().manual_seed(seed)
    gold = torch.rand(3, 2, keys, keys, generator=generator) < 0.3
    eligible = torch.rand(2, keys, keys, generator=generator) < 0.8
    gold &= eligible
    other = shuffled(gold, eligible, torch.rand(2, keys, keys, generator=generator, dtype=torch.float64))
    own = torch.eye(keys, dtype=torch.bool)
    assert not (other & (gold | own | ~eligible)).any()
    wanted, free = gold.sum(-1), (eligible & ~gold & ~own).sum(-1)
    assert torch.equal(other.sum(-1), torch.where(free >= wanted, wanted, 0))


def test_noise_depends_on_the_seed_the_sentence_and_the_places_alone():
    pieces = torch.tensor([[5, 6, 7, 3, 0, 0], [5, 7, 6, 3, 0, 0], [5, 6, 7, 3, 0, 0]])
    first = noise(pieces, 6, seed=1)
    assert torch.equal(first[0], first[2])
    assert not (first[0] == first[1]).any()
    assert torch.equal(noise(pieces[1:2, :4], 9, seed=1)[0, :6, :6], first[1])
    assert not (noise(pieces, 6, seed=2) == first).any()
    many = noise(torch.arange(10, 1010)[:, None], 3, seed=1)
    assert ((many >= 0) & (many < 1)).all()
    assert ((many.mean((0,)) - 0.5).abs() < 0.05).all()
    assert len(many.unique()) == many.numel()


def test_words_of_a_batch_are_found_whatever_the_order_of_its_sentences():
    known = labels([[0, 1], [0, 0, 1, 2], [0]], pairs=[(0, 0, 0, 1), (1, 0, 2, 0), (1, 0, 2, 1)])
    one = seen(one_hot([[0] * 5], 5).expand(2, 1, 5, 5), tokens(4, 2))
    found = targets(type(one)(**{**vars(one), "sentences": torch.tensor([1, 0]).numpy()}), known, ())
    to_dependent, to_head = found.words
    assert to_dependent.nonzero().tolist() == [[0, 2, 0], [0, 2, 1], [1, 0, 1]]
    assert torch.equal(to_head, to_dependent.transpose(1, 2))
    assert found.eligible_words[1].tolist() == [[True, True, False], [True, True, False], [False] * 3]
    assert found.members[0].nonzero().tolist() == [[0, 0], [1, 0], [2, 1], [3, 2]]
