"""Models whose attention types have different normalisers: every pair of them side by side."""

from __future__ import annotations

import itertools

import pytest
import torch

from headcount.heads import ATTENTION_TYPES, Heads
from headcount.model.gates import FixedGate
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.registry import names

NORMALISERS = names("model.normalise")
MIXTURES = [
    dict(zip(ATTENTION_TYPES, order, strict=True))
    for first, second in itertools.combinations(NORMALISERS, 2)
    for order in ((first, second, second), (second, first, second), (second, second, first))
]
mixtures = pytest.mark.parametrize("normalisers", MIXTURES, ids=lambda mixture: "-".join(mixture.values()))
KEPT: Heads = {"encoder": [[1, 3]], "decoder_self": [[0, 2]], "decoder_cross": [[2]]}


def model_of(build, normalisers: dict[str, str]) -> Transformer:
    return build(normalisers=normalisers, layers_encoder=1, layers_decoder=1)


def test_every_pair_is_next_to_each_other_in_every_type():
    for kind in ATTENTION_TYPES:
        assert {mixture[kind] for mixture in MIXTURES} == set(NORMALISERS)


@mixtures
def test_forward_backward_and_cached_decoding(build, sentences, normalisers):
    model, (source, target) = model_of(build, normalisers), sentences
    states = model.hidden(source, target)
    states.sin().sum().backward()
    for name, parameter in model.named_parameters():
        if not name.startswith("embedding"):
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all()
    with torch.no_grad():
        cache = model.start(source)
        for position in range(target.shape[1]):
            step = model.step(target[:, position, None], cache)[:, 0]
            torch.testing.assert_close(step, states[:, position], rtol=0, atol=1e-5)


@mixtures
def test_removed_equals_masked(build, sentences, normalisers):
    model = model_of(build, normalisers)
    state, config = remove_heads(model.state_dict(), model.config, KEPT)
    assert config.normalisers == normalisers
    smaller = Transformer(config).eval()
    smaller.load_state_dict(state, strict=True)
    for (kind, layer), attention in model.attentions().items():
        attention.gate = FixedGate.keeping(KEPT[kind][layer], attention.kept)
    with torch.no_grad():
        torch.testing.assert_close(smaller(*sentences), model(*sentences), rtol=1e-6, atol=2e-6)
