"""α-entmax at the α of the settings: any point from softmax to sparsemax and beyond (Correia et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headcount.model.entmax import ALPHA_HIGH, Mapping, entmax
from headcount.model.normalise._package import bisected
from headcount.model.shape import AlphaOptions


class Normaliser(nn.Module):
    """Map scores to weights by α-entmax at α = `options.fixed`; arguments and result as in `softmax.Normaliser`."""

    alpha: Tensor  # [head]

    def __init__(self, heads: int, options: AlphaOptions) -> None:
        super().__init__()
        self.beyond = options.fixed > ALPHA_HIGH
        self.register_buffer("alpha", torch.full((heads,), options.fixed), persistent=False)

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys; beyond sparsemax by the entmax package, in float64 because float32 is too coarse."""
        if not self.beyond:
            return entmax(scores, self.alpha, mask)
        weights = bisected(scores.double(), self.alpha, mask)
        return weights.to(torch.promote_types(scores.dtype, torch.float32))

    def mapping(self) -> Mapping | None:
        """Return what `forward` does, for attention that takes scores and weights together; None beyond sparsemax."""
        return None if self.beyond else Mapping(self.alpha, None)
