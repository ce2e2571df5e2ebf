"""A study that takes seconds: words to be translated one by one, in reverse order, by a Transformer of twelve heads."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
import torch

from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.heads import Heads
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.journal import Journal
from headcount.train.loop import train
from headcount.train.optim import Group, NamedAdam, inverse_sqrt, trainable
from headcount.vocabulary import EOS

VOCABULARY = 16


@cache
def corpus(pairs: int = 120, seed: int = 1) -> Encoded:
    rng = np.random.default_rng(seed)
    sources = [rng.integers(4, VOCABULARY, size=rng.integers(1, 6)).tolist() for _ in range(pairs)]
    return Encoded.from_lists([[*ids, EOS] for ids in sources], [[*ids[::-1], EOS] for ids in sources])


def config(kept: Heads | None = None, **changes: object) -> ModelConfig:
    sizes = {"layers_encoder": 1, "layers_decoder": 1, "width": 16, "heads": 4, "feed_forward": 32, "norm": "pre"}
    options = {"tie_embeddings": True, "dropout": 0.0, "attention_dropout": 0.0, "kept": kept or {}}
    return ModelConfig(**{"vocabulary": VOCABULARY, **sizes, **options, **changes})  # type: ignore[arg-type]


def make_model(kept: Heads | None = None, seed: int = 1, **changes: object) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config(kept, **changes))


def adam(model: Transformer, groups: list[Group] | None = None) -> NamedAdam:
    rate = partial(inverse_sqrt, peak=1e-2, warmup_updates=20)
    return NamedAdam(groups or [Group(trainable(model), rate)], beta1=0.9, beta2=0.98)


def fit(model: Transformer, folder: Path, *, updates: int, keep: tuple[int, ...] = (), **options: object) -> NamedAdam:
    """Train in place and return the optimiser."""
    optimiser = options.pop("optimiser", None) or adam(model)
    settings: dict[str, object] = {
        "seed": 5,
        "accumulate_batches": 1,
        "label_smoothing": 0.0,
        "clip_norm": 1.0,
        "skipped_updates": 0,
        "precision": "float32",
        "validate": lambda model: {},
        "validate_every_updates": 10_000,
        **options,
    }
    train(
        model,
        TokenBatches(corpus(), tokens_per_batch=120, seed=3),
        optimiser=optimiser,
        average=Average(updates=updates, points=1, every_updates=1),
        updates=updates,
        journal=Journal(folder / "journal.jsonl"),
        checkpoints=Checkpoints(folder / "checkpoints", identity="small", rhythm=Rhythm(10_000, 1e6), keep=keep),
        **settings,  # type: ignore[arg-type]
    )
    return optimiser
