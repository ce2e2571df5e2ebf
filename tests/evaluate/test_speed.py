from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.errors import UserError
from headcount.evaluate.speed import largest_logit_difference, masked_twin, time_decoding
from headcount.heads import full, total
from headcount.model.transformer import ModelConfig, Transformer

SENTENCES = [[5, 6, 7, 3], [8, 3], [9, 10, 4, 5, 3], []]
SEARCH: dict[str, Any] = {
    "dense": "dense",
    "repeats": 2,
    "beam": 2,
    "length_penalty": 0.6,
    "length_ratio": 1.0,
    "length_extra": 3,
    "sentences_per_batch": 2,
}


def model(**kept: list[list[int]]) -> Transformer:
    torch.manual_seed(1)
    return Transformer(
        ModelConfig(
            vocabulary=12,
            layers_encoder=1,
            layers_decoder=1,
            width=8,
            heads=4,
            feed_forward=16,
            norm="pre",
            tie_embeddings=True,
            dropout=0.1,
            attention_dropout=0.0,
            kept=full(1, 1, 4) | kept,
        )
    )


def test_rows_compare_removed_with_masked_and_dense() -> None:
    models = {"dense": model(), "pruned": model(encoder=[[2]], decoder_cross=[[]])}
    threads = torch.get_num_threads()
    dense, pruned = time_decoding(models, SENTENCES, **SEARCH)
    assert torch.get_num_threads() == threads
    assert (dense["run"], pruned["run"]) == ("dense", "pruned")
    assert dense["speedup_vs_dense"] == 1
    assert dense["heads"] == 12
    assert all(dense[name] is None for name in ("speedup_vs_masked", "max_logit_difference", "identical_outputs"))
    assert pruned["heads"] == 5
    assert pruned["identical_outputs"]
    assert pruned["max_logit_difference"] < 1e-5
    for row in (dense, pruned):
        assert 0 < row["low"] <= row["seconds_per_sentence"] <= row["high"]
    assert pruned["speedup_vs_masked"] > 0
    assert pruned["masked_seconds_per_sentence"] > 0


def test_a_model_with_other_weights_is_told_apart() -> None:
    one, other = model().eval(), model().eval()
    targets = [[4, 5, 3], [6, 3]]
    assert largest_logit_difference(one, other, SENTENCES[:2], targets, 2) == 0
    with torch.no_grad():
        other.output_weight[4] *= 2.0
    assert largest_logit_difference(one, other, SENTENCES[:2], targets, 2) > 1e-3


def test_the_twin_has_every_head_and_computes_the_same() -> None:
    pruned = model(encoder=[[]], decoder_self=[[0, 3]]).eval()
    twin = masked_twin(pruned)
    assert total(twin.config.kept) == 12
    assert largest_logit_difference(pruned, twin, SENTENCES[:3], [[4, 3], [5, 3], [3]], 3) < 1e-5


def test_faults_are_named() -> None:
    with pytest.raises(UserError, match="no model 'dense'; allowed: other"):
        time_decoding({"other": model()}, SENTENCES, **SEARCH)
    with pytest.raises(UserError, match="no sentence"):
        time_decoding({"dense": model()}, [[]], **SEARCH)
