from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch

from headcount.data.encoded import Encoded
from headcount.heads import ATTENTION_TYPES
from headcount.model.decode import translate
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.translated import translated
from headcount.observe.watch import AttentionMap, watch
from headcount.vocabulary import EOS

LIMIT = {"length_ratio": 1.5, "length_extra": 2}


def make_model(normaliser: str = "softmax") -> Transformer:
    """Return a model that writes EOS early in some sentences and not at all in others."""
    torch.manual_seed(5)
    sizes = {"vocabulary": 12, "layers_encoder": 1, "layers_decoder": 2, "width": 12, "heads": 3, "feed_forward": 16}
    rest = {"norm": "pre", "tie_embeddings": False, "dropout": 0.3, "attention_dropout": 0.3}
    model = Transformer(ModelConfig(**sizes, **rest, normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0) if parameter.ndim > 1 else parameter.add_(torch.randn_like(parameter))
    return model


def corpus() -> Encoded:
    rng = np.random.default_rng(4)
    sides = [[[*rng.integers(4, 12, rng.integers(1, 8)).tolist(), EOS] for _ in range(40)] for _ in range(2)]
    return Encoded.from_lists(*sides)


def rows_of_search(model: Transformer, sources: list[list[int]]) -> dict[tuple[str, int], np.ndarray]:
    """Return the largest weight of each row, [row, head], that the model forms while it searches."""
    rows = defaultdict(list)
    for place, attention in model.attentions().items():

        def see(weights, queries, keys, into=rows[place]):
            assert keys.any(1).all()
            into.append(weights.amax(-1).transpose(1, 2)[queries].numpy())  # [row, head]

        attention.observer = see
    translate(model, sources, beam=1, length_penalty=0.0, max_length=(1.5, 2), sentences_per_batch=7)
    for attention in model.attentions().values():
        attention.observer = None
    return {place: np.concatenate(found) for place, found in rows.items()}


@pytest.mark.parametrize("normaliser", ["softmax", "entmax15"])
def test_the_rows_of_weights_are_those_of_step_by_step_search(normaliser):
    model = make_model(normaliser)
    written = translated(model, corpus(), **LIMIT)
    rows = defaultdict(list)

    def see(found: AttentionMap) -> None:
        rows[found.attention, found.layer].append(found.weights.amax(-1).transpose(1, 2)[found.queries].numpy())

    watch(model, written, sentences_per_batch=9, see=see)
    searched = rows_of_search(model, [written.source(i).tolist() for i in range(len(written))])
    assert rows.keys() == searched.keys() == model.attentions().keys()
    for place, found in rows.items():
        ours, theirs = np.concatenate(found), searched[place]
        assert ours.shape == theirs.shape, place  # as many rows; for the decoder one a step
        np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0), atol=1e-5)


def test_targets_are_what_search_writes_and_the_rest_is_as_it_was():
    model, pairs = make_model(), corpus()
    written = translated(model, pairs, **LIMIT)
    sources = [pairs.source(i).tolist() for i in range(len(pairs))]
    expected = translate(model, sources, beam=1, length_penalty=0.0, max_length=(1.5, 2), sentences_per_batch=1)
    assert [written.target(i).tolist() for i in range(len(pairs))] == [[*pieces, EOS] for pieces in expected]
    assert [written.source(i).tolist() for i in range(len(pairs))] == sources
    assert model.training
    at_the_limit = written.target_lengths - 1 == (1.5 * (pairs.source_lengths - 1)).astype(int) + 2
    assert 0 < at_the_limit.sum() < len(pairs), "both ends of a translation must occur"
