"""α-entmax with one learned α for each head (Correia et al. 2019): the head chooses its own sparsity."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headcount.model.entmax import entmax


class Normaliser(nn.Module):
    """Map scores to weights by α-entmax; arguments and result as in `softmax.Normaliser`.

    α = 1 + sigmoid(a) with a ~ N(0, 1) at the start, as in the authors' code. They also clamp α at 1.01, because their
    gradient explodes near 1, and a head that falls below the clamp is stuck there; `entmax` is exact down to α = 1.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # one seed gives the same matrices to every normaliser
            self.a = nn.Parameter(torch.randn(heads))

    @property
    def alpha(self) -> Tensor:
        """α of every head, [head]: from 1 (softmax) to 2 (sparsemax)."""
        return 1 + self.a.sigmoid()

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return entmax(scores, self.alpha, mask)
