from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES
from headcount.model.transformer import ModelConfig, Transformer, sinusoids
from headcount.registry import names
from headcount.vocabulary import PAD

NORMALISERS = names("model.normalise")
VARIANTS = [
    *({"normalisers": dict.fromkeys(ATTENTION_TYPES, name)} for name in NORMALISERS),
    {"norm": "post"},
    {"tie_embeddings": False},
    {"kept": {"encoder": [[1, 3], []], "decoder_self": [[], [0], [0, 1, 2]], "decoder_cross": [[2], [], [0, 3]]}},
]
variants = pytest.mark.parametrize("changes", VARIANTS, ids=str)


@variants
def test_future_pieces_cannot_change_past_logits(build, sentences, changes):
    model, (source, target) = build(**changes), sentences
    before = model(source, target)
    changed = target.clone()
    changed[:, 3] = 17
    after = model(source, changed)
    torch.testing.assert_close(after[:, :3], before[:, :3], rtol=0, atol=1e-6)
    assert not torch.allclose(after[:, 3:], before[:, 3:])


@variants
def test_padding_cannot_change_anything(build, sentences, changes):
    model, (source, target) = build(**changes), sentences
    together = model(source, target)
    for row, (pieces, wanted) in enumerate(zip(source, target, strict=True)):
        alone = model(pieces[pieces != PAD][None], wanted[wanted != PAD][None])[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, rtol=0, atol=1e-5)
    wider = [torch.nn.functional.pad(side, (0, 5)) for side in (source, target)]
    real = target != PAD
    torch.testing.assert_close(model(*wider)[:, : target.shape[1]][real], together[real], rtol=0, atol=1e-6)


def test_the_content_of_padding_cannot_change_anything(build, sentences):
    model, (source, target) = build(), sentences
    before = model(source, target)[target != PAD]
    with torch.no_grad():
        model.embedding["shared"][PAD] = 1e3
    states = model.hidden(source, target)[target != PAD]
    torch.testing.assert_close(states @ model.output_weight[4:].T, before[:, 4:], rtol=0, atol=1e-6)


@variants
def test_a_sentence_of_padding_alone_leaves_everything_finite(build, sentences, changes):
    model, (source, target) = build(**changes), sentences
    source = source.clone()
    source[1] = PAD
    logits = model(source, target)
    assert logits.isfinite().all()
    logits.logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad is not None) == parameter.requires_grad, name
        assert parameter.grad is None or parameter.grad.isfinite().all()


@variants
def test_cached_decoding_equals_the_full_forward_pass(build, sentences, changes):
    model, (source, target) = build(**changes), sentences
    with torch.no_grad():
        full = model.hidden(source, target)
        cache = model.start(source)
        for position in range(target.shape[1]):
            step = model.step(target[:, position, None], cache)[:, 0]
            torch.testing.assert_close(step, full[:, position], rtol=0, atol=1e-5)


def test_cached_decoding_follows_hypotheses_and_sentences(build, sentences):
    model, (source, target) = build(), sentences
    with torch.no_grad():
        cache = model.start(source)
        model.step(target[:, :1], cache)
        cache.select(torch.zeros(2, 2, dtype=torch.int64), torch.tensor([0, 3]))  # two hypotheses of sentences 0 and 3
        step = model.step(torch.tensor([[5, 6], [7, 8]]), cache)
        pieces = torch.tensor([[2, 5], [2, 6], [2, 7], [2, 8]])
        full = model.hidden(source[[0, 0, 3, 3]], pieces)[:, 1]
    torch.testing.assert_close(step.flatten(0, 1), full, rtol=0, atol=1e-5)


def test_evaluation_is_deterministic_and_equals_training_without_dropout(build, sentences):
    noisy = build(dropout=0.3, attention_dropout=0.3)
    assert torch.equal(noisy(*sentences), noisy(*sentences))
    noisy.train()
    assert not torch.allclose(noisy(*sentences), noisy(*sentences))
    quiet = build()
    before = quiet(*sentences)
    torch.testing.assert_close(quiet.train()(*sentences), before)
    torch.testing.assert_close(noisy.eval()(*sentences), before)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_parts_make_the_whole(build, sentences, norm: str):
    model, (source, target) = build(norm=norm), sentences
    hidden = model.decode_hidden(target, model.encode(source), source != PAD)
    torch.testing.assert_close(hidden, model.hidden(source, target))
    torch.testing.assert_close(hidden @ model.output_weight.T, model(source, target))
    if norm == "pre":
        assert model.decoder.norm.weight.shape == (16,)


def test_embeddings_are_one_matrix_or_three(build):
    assert [name for name, _ in build().embedding.items()] == ["shared"]
    assert sorted(name for name, _ in build(tie_embeddings=False).embedding.items()) == ["output", "source", "target"]


def test_heads_start_alike_whatever_heads_are_beside_them():
    def spread(model: Transformer) -> Tensor:
        return model.attentions()["encoder", 0].query.weight.std()

    sizes = {"vocabulary": 10, "layers_encoder": 1, "layers_decoder": 1, "width": 64, "heads": 8, "feed_forward": 8}
    rest = {"norm": "pre", "tie_embeddings": True, "dropout": 0.0, "attention_dropout": 0.0}
    dense, sparse = (Transformer(ModelConfig(**sizes, **rest, kept=kept)) for kept in ({}, {"encoder": [[2]]}))
    torch.testing.assert_close(spread(sparse), spread(dense), rtol=0.1, atol=0)


def test_attentions_are_listed_by_type_and_layer(build):
    attentions = build().attentions()
    assert list(attentions) == [
        *(("encoder", layer) for layer in range(2)),
        *(("decoder_self", layer) for layer in range(3)),
        *(("decoder_cross", layer) for layer in range(3)),
    ]
    assert len({id(module) for module in attentions.values()}) == 8


def test_an_unknown_normaliser_is_refused(build):
    with pytest.raises(UserError, match=r"did you mean 'entmax15'"):
        build(normalisers={"encoder": "entmax_15"})


def test_sentences_longer_than_the_position_table(build):
    model = build()
    source = torch.randint(4, 20, (1, 300))
    with torch.no_grad():
        assert model(source, source).isfinite().all()
        cache = model.start(source)
        cache.length = 1000
        assert model._embed(source[:, :1], "target", 1000).isfinite().all()
    torch.testing.assert_close(model.positions[:300], sinusoids(300, 16))


def test_positions_are_sines_and_cosines():
    table = sinusoids(50, 6)
    assert table.shape == (50, 6)
    angle = 7 / 10_000 ** (2 / 3)  # third rate of three
    torch.testing.assert_close(table[7, [2, 5]], torch.tensor([math.sin(angle), math.cos(angle)]))
    torch.testing.assert_close(table[:, :3] ** 2 + table[:, 3:] ** 2, torch.ones(50, 3))
    assert sinusoids(5, 7).shape == (5, 7)


@pytest.mark.parametrize("name", NORMALISERS)
def test_autocast_trains_with_finite_losses(build, sentences, name: str):
    normalisers = dict.fromkeys(ATTENTION_TYPES, name)
    model = build(normalisers=normalisers, dropout=0.1, layers_encoder=1, layers_decoder=1).train()
    source, target = sentences
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(source, target)
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), target[:, 1:].flatten())
        assert loss.isfinite()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 1.0
