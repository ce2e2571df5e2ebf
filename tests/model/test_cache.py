"""The cache of decoding against the plain form, which computes every hypothesis again from its first piece."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.heads import ATTENTION_TYPES, Heads
from headcount.model.attention import KeysValues
from headcount.model.cache import LEAST_ROOM, Past
from headcount.model.gates import FixedGate
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.registry import names

BEAM, STEPS = 3, 7
GAPS: Heads = {"encoder": [[1, 3], []], "decoder_self": [[], [0], [0, 1, 2]], "decoder_cross": [[2], [], [0, 3]]}
VARIANTS: list[dict[str, Any]] = [
    *({"normalisers": dict.fromkeys(ATTENTION_TYPES, name)} for name in names("model.normalise")),
    {"norm": "post"},
    {"kept": GAPS},
]


def branching(model: Transformer, source: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Follow random hypotheses that branch, die and lose a sentence now and then.

    Returns the sentences [sentence], the pieces [sentence, hypothesis, position] and the states of the newest position
    [sentence, hypothesis, width] of each step.
    """
    generator = torch.Generator().manual_seed(5)
    cache = model.start(source)
    sentences = torch.arange(len(source))
    pieces = torch.full((len(source), 1, 1), 2)
    steps = []
    for step in range(STEPS):
        steps.append((sentences, pieces, model.step(pieces[:, :, -1], cache)))
        going = torch.arange(len(sentences))
        if step in (2, 4):
            going = going[torch.arange(len(sentences)) != 1]
        parents = torch.randint(0, pieces.shape[1], (len(going), BEAM), generator=generator)
        newest = torch.randint(4, 20, (len(going), BEAM, 1), generator=generator)
        pieces = torch.cat([pieces[going[:, None], parents], newest], dim=2)
        sentences = sentences[going]
        cache.select(parents, None if len(going) == len(cache.source_mask) else going)
    return steps


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_hypotheses_that_branch_equal_the_full_forward_pass(build, sentences, changes):
    model, (source, _) = build(**changes), sentences
    with torch.no_grad():
        for which, pieces, states in branching(model, source):
            for hypothesis in range(pieces.shape[1]):
                full = model.hidden(source[which], pieces[:, hypothesis])[:, -1]
                torch.testing.assert_close(states[:, hypothesis], full, rtol=0, atol=1e-5)


def test_one_hypothesis_that_is_left_sees_its_own_past_alone(build, sentences):
    model, (source, _) = build(), sentences
    with torch.no_grad():
        cache = model.start(source)
        model.step(torch.full((4, 1), 2), cache)
        cache.select(torch.zeros(4, 2, dtype=torch.int64), None)
        model.step(torch.tensor([[5, 6]] * 4), cache)
        cache.select(torch.ones(4, 1, dtype=torch.int64), None)
        step = model.step(torch.full((4, 1), 7), cache)[:, 0]
        torch.testing.assert_close(step, model.hidden(source, torch.tensor([[2, 6, 7]] * 4))[:, -1], rtol=0, atol=1e-5)


def test_removed_heads_equal_masked_heads_in_decoding(build, sentences):
    model, (source, _) = build(), sentences
    state, config = remove_heads(model.state_dict(), model.config, GAPS)
    smaller = Transformer(config).eval()
    smaller.load_state_dict(state)
    for (kind, layer), attention in model.attentions().items():
        attention.gate = FixedGate.keeping(GAPS[kind][layer], attention.kept)
    with torch.no_grad():
        for (_, _, masked), (_, _, removed) in zip(branching(model, source), branching(smaller, source), strict=True):
            torch.testing.assert_close(removed, masked, rtol=0, atol=1e-5)


def test_removed_heads_take_no_room(build, sentences):
    model, (source, target) = build(kept=GAPS), sentences
    with torch.no_grad():
        cache = model.start(source)
        model.step(target[:, :1], cache)
    assert [past.stored.keys.shape[1] for past in cache.past] == [0, 1, 3]
    assert cache.past[0].stored.values.numel() == 0
    assert [memory.keys.shape[1] for memory in cache.memory] == [1, 0, 2]


def test_growing_equals_concatenation():
    torch.manual_seed(1)
    past, plain = Past(), KeysValues(*(torch.empty(2, 3, 0, 4) for _ in range(2)))
    for hypotheses in (1, *[3] * LEAST_ROOM):
        newest = KeysValues(*(torch.randn(2, 3, hypotheses, 4) for _ in range(2)))
        plain = KeysValues(*(torch.cat(pair, dim=2) for pair in zip(plain, newest, strict=True)))
        for found, expected in zip(past.append(newest), plain, strict=True):
            assert torch.equal(found, expected)


def test_nothing_moves_but_to_make_room_or_to_drop_a_sentence(build, sentences):
    def places() -> list[int]:
        return [part.data_ptr() for past in cache.past for part in past.stored]

    model, (source, target) = build(), sentences
    with torch.no_grad():
        cache = model.start(source)
        model.step(target[:, :1], cache)
        first = places()
        cache.select(torch.zeros(4, 2, dtype=torch.int64), None)
        model.step(target[:, 1:3], cache)
        cache.select(torch.tensor([[1, 0]] * 4), None)
        model.step(target[:, 1:3], cache)
    assert LEAST_ROOM > 2 * 2
    assert places() == first
