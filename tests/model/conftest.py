from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from headcount.model.transformer import ModelConfig, Transformer

Build = Callable[..., Transformer]


@pytest.fixture
def build() -> Build:
    """Return a factory of small models in evaluation mode whose biases and norms are not the initial zeros and ones."""

    def factory(seed: int = 1, **changes: Any) -> Transformer:
        settings: dict[str, Any] = {
            "vocabulary": 20,
            "layers_encoder": 2,
            "layers_decoder": 3,
            "width": 16,
            "heads": 4,
            "feed_forward": 24,
            "norm": "pre",
            "tie_embeddings": True,
            "dropout": 0.0,
            "attention_dropout": 0.0,
        }
        torch.manual_seed(seed)
        model = Transformer(ModelConfig(**settings | changes))
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 1:
                    parameter.add_(torch.randn_like(parameter), alpha=0.5)
        return model.eval()

    return factory


@pytest.fixture
def sentences() -> tuple[torch.Tensor, torch.Tensor]:
    """Return source [4, 7] and target input [4, 6] of unequal lengths."""
    source = torch.tensor(
        [[5, 6, 7, 8, 9, 10, 3], [11, 12, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0], [4, 15, 16, 17, 3, 0, 0]]
    )
    target = torch.tensor([[2, 5, 6, 7, 8, 9], [2, 12, 0, 0, 0, 0], [2, 4, 4, 19, 18, 0], [2, 0, 0, 0, 0, 0]])
    return source, target
