"""Small models with random weights, and sentences for them."""

from __future__ import annotations

from typing import Any

import torch

from headcount.heads import full
from headcount.model.transformer import ModelConfig, Transformer

SENTENCES = [[5, 6, 7, 3], [8, 3], [9, 10, 4, 5, 3], []]


def model(seed: int = 1, *, width: int = 8, normalisers: dict[str, str] | None = None, **kept: Any) -> Transformer:
    """Return a model of one layer each with four heads, of which the named attention types keep the given ones."""
    torch.manual_seed(seed)
    return Transformer(
        ModelConfig(
            vocabulary=12,
            layers_encoder=1,
            layers_decoder=1,
            width=width,
            heads=4,
            feed_forward=16,
            norm="pre",
            tie_embeddings=True,
            dropout=0.1,
            attention_dropout=0.0,
            normalisers=normalisers or {},
            kept=full(1, 1, 4) | kept,
        )
    )
