"""The trainings of one seed differ in their normaliser and in nothing else: weights, batches, dropout."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.heads import ATTENTION_TYPES
from headcount.model import dropout as dropout_module
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.registry import names
from headcount.train import loop
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.journal import Journal
from headcount.train.optim import Group, NamedAdam, constant, trainable
from headcount.vocabulary import EOS

NORMALISERS = names("model.normalise")


def model_of(normaliser: str, seed: int) -> Transformer:
    torch.manual_seed(seed)
    sizes = {"vocabulary": 20, "layers_encoder": 2, "layers_decoder": 2, "width": 16, "heads": 4, "feed_forward": 24}
    rest = {"norm": "pre", "tie_embeddings": True, "dropout": 0.2, "attention_dropout": 0.0}
    return Transformer(ModelConfig(**sizes, **rest, normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser)))


def of_all(model: Transformer) -> dict[str, torch.Tensor]:
    """Return all weights but a."""
    return {name: tensor for name, tensor in model.state_dict().items() if not name.endswith((".a", "attention_a"))}


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_all_parameters_but_a_start_alike(normaliser: str):
    baseline, model = of_all(model_of("softmax", 3)), of_all(model_of(normaliser, 3))
    assert list(baseline) == list(model)
    torch.testing.assert_close(model, baseline, rtol=0, atol=0)
    other = of_all(model_of(normaliser, 4))
    assert not torch.equal(other["embedding.shared"], model["embedding.shared"])


def test_all_trainings_see_the_same_batches_and_dropout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    texts = [[*rng.integers(4, 20, size=rng.integers(1, 7)).tolist(), EOS] for _ in range(30)]
    corpus = Encoded.from_lists(texts, texts)
    dropped: list[torch.Tensor] = []
    plain = dropout_module.dropout

    def embedding_dropout(values: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
        result = plain(values, rate, training)
        dropped.append(result == 0)
        return result

    monkeypatch.setattr("headcount.model.transformer.dropout", embedding_dropout)

    def train(normaliser: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        dropped.clear()
        seen: list[torch.Tensor] = []
        model = model_of(normaliser, 1)
        hidden = model.hidden

        def record(source: torch.Tensor, target_input: torch.Tensor) -> torch.Tensor:
            seen.extend([source.clone(), target_input.clone()])
            return hidden(source, target_input)

        monkeypatch.setattr(model, "hidden", record)
        loop.train(
            model,
            TokenBatches(corpus, tokens_per_batch=40, seed=1),
            optimiser=NamedAdam([Group(trainable(model), partial(constant, rate=1e-3))], beta1=0.9, beta2=0.98),
            average=Average(updates=3, points=1, every_updates=1),
            seed=1,
            updates=3,
            accumulate_batches=1,
            label_smoothing=0.1,
            clip_norm=1.0,
            skipped_updates=0,
            precision="float32",
            journal=Journal(tmp_path / normaliser / "journal.jsonl"),
            checkpoints=Checkpoints(tmp_path / normaliser / "checkpoints", identity="tiny", rhythm=Rhythm(100, 1e6)),
            validate=lambda model: {},
            validate_every_updates=100,
        )
        return seen, list(dropped)

    expected = train("softmax")
    assert len(expected[0]) == len(expected[1]) == 6  # source and target side of three updates
    for normaliser in set(NORMALISERS) - {"softmax"}:
        torch.testing.assert_close(train(normaliser), expected, rtol=0, atol=0)
