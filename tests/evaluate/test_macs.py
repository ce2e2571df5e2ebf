"""Counted multiply-accumulates against those that PyTorch counts while it runs, and against the paper's arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch.utils.flop_counter import FlopCounterMode

from headcount.evaluate.macs import Macs, ceiling, decoding, encoding, translation
from headcount.heads import ATTENTION_TYPES, Heads
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer

GAPS: Heads = {
    "encoder": [[1, 3], [], [0, 1, 2]],
    "decoder_self": [[0], [2, 3]],
    "decoder_cross": [[], [0, 1, 2]],
}
SOURCE, BEAM, STEPS = 5, 3, 4


def config(**changes: Any) -> ModelConfig:
    sizes: dict[str, Any] = {
        "vocabulary": 13,
        "layers_encoder": 3,
        "layers_decoder": 2,
        "width": 16,
        "heads": 4,
        "feed_forward": 24,
        "norm": "pre",
        "tie_embeddings": True,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    return ModelConfig(**{**sizes, **changes})


def explicit(shape: ModelConfig) -> Transformer:
    """Return a model that computes attention step by step: PyTorch does not count its fused kernel of the CPU."""
    model = Transformer(shape).eval()
    for attention in model.attentions().values():
        attention.observer = lambda weights, queries, keys: None
    return model


@torch.no_grad()
def counted(work: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        work()
    flops = counter.get_total_flops()
    assert flops % 2 == 0
    return flops // 2


@pytest.mark.parametrize("kept", [{}, GAPS], ids=["dense", "removed"])
def test_the_formula_counts_what_pytorch_counts(kept: Heads) -> None:
    shape = config(kept=kept)
    model = explicit(shape)
    source = torch.full((1, SOURCE), 4)
    cache = model.start(source)
    assert counted(lambda: model.start(source)) == encoding(shape, SOURCE).total
    queries = keys = 0
    for step in range(1, STEPS + 1):
        hypotheses = 1 if step == 1 else BEAM
        pieces = torch.full((1, hypotheses), 5)
        done = counted(lambda: F.linear(model.step(pieces, cache), model.output_weight))  # noqa: B023
        slots = 1 + BEAM * (step - 1)
        assert done == decoding(shape, SOURCE, hypotheses, hypotheses * slots).total
        queries, keys = queries + hypotheses, keys + hypotheses * slots
        cache.select(torch.zeros(1, BEAM, dtype=torch.int64), None)
    whole = translation(shape, SOURCE, STEPS, BEAM)
    assert whole == encoding(shape, SOURCE) + decoding(shape, SOURCE, queries, keys)


def big(kept: Heads | None = None) -> ModelConfig:
    sizes = {"layers_encoder": 6, "layers_decoder": 6, "width": 1024, "heads": 16, "feed_forward": 4096}
    return config(**sizes, vocabulary=32_000, kept=kept or {})


def layers(macs: Macs) -> int:
    """Return the products with the layers' parameters, which is what the paper's size is about."""
    return macs.projections + macs.feed_forward


def test_attention_is_three_sevenths_of_the_layers_of_transformer_big() -> None:
    dense = translation(big(), 25, 25, 1)
    assert dense.projections * 168 == 72 * layers(dense)


@pytest.mark.parametrize(("gone", "factor"), [(0.5, 1.27), (13 / 18, 1.45), (0.75, 1.47), (8 / 9, 1.62)])
def test_what_removing_heads_can_gain(gone: float, factor: float) -> None:
    heads = big().heads
    left = round(heads * 6 * (1 - gone))  # of each attention type
    kept = [list(range(left // 6 + (layer < left % 6))) for layer in range(6)]
    dense, small = (translation(big(one), 25, 25, 1) for one in (None, dict.fromkeys(ATTENTION_TYPES, kept)))
    assert layers(dense) / layers(small) == pytest.approx(factor, abs=0.01)


def test_the_ceiling_weighs_sentences_by_their_work() -> None:
    dense, model = config(), config(kept=GAPS)
    lengths = [(3, 2), (9, 7)]
    work = [[translation(one, *length, BEAM).total for length in lengths] for one in (dense, model)]
    assert ceiling(dense, model, lengths, BEAM) == sum(work[0]) / sum(work[1]) > 1
    assert ceiling(dense, dense, lengths, BEAM) == 1
    wider = config(vocabulary=4000), config(vocabulary=4000, kept=GAPS)
    assert 1 < ceiling(*wider, lengths, BEAM) < ceiling(dense, model, lengths, BEAM)  # logits cost the same
