"""α-entmax at the α of the settings: any point between softmax and sparsemax (Correia et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headcount.model.entmax import entmax
from headcount.model.shape import AlphaOptions


class Normaliser(nn.Module):
    """Map scores to weights by α-entmax at α = `options.fixed`; arguments and result as in `softmax.Normaliser`."""

    alpha: Tensor  # [head]

    def __init__(self, heads: int, options: AlphaOptions) -> None:
        super().__init__()
        self.register_buffer("alpha", torch.full((heads,), options.fixed), persistent=False)

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return entmax(scores, self.alpha, mask)
