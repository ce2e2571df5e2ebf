"""α-entmax with a learned α (Correia et al. 2019): the common part of normalisers that differ in who shares an α."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from headcount.model.entmax import Mapping, entmax
from headcount.model.shape import AlphaOptions


class LearnedAlpha(nn.Module):
    """Map scores to weights by α-entmax with α = 1 + sigmoid(a); arguments and result as in `softmax.Normaliser`.

    Weight decay would pull α to 1.5 and has to leave a alone; `train.optim.NamedAdam` has none.

    Args:
        heads: of the attention.
        options: a ~ N(mean, sd) at the start; below `lowest` α is cut off. The authors' code clamps at 1.01, because
            their gradient explodes near 1; the clamp has no gradient, so a head that falls below it is stuck. `entmax`
            is exact down to α = 1, the `lowest` that clamps nothing.

    """

    by_head: ClassVar[bool]
    """Whether a is [head], which head removal slices, or one number for all heads, []."""

    def __init__(self, heads: int, options: AlphaOptions) -> None:
        super().__init__()
        self.heads = heads
        self.lowest = options.lowest
        with torch.random.fork_rng(devices=[]):  # one seed gives the same matrices to every normaliser
            self.a = nn.Parameter(options.mean + options.sd * torch.randn((heads,) if self.by_head else ()))

    @property
    def alpha(self) -> Tensor:
        """α of every head, [head]: from 1 (softmax) to 2 (sparsemax)."""
        return (1 + self.a.sigmoid()).clamp_min(self.lowest).expand(self.heads)

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return entmax(scores, self.alpha, mask)

    def mapping(self) -> Mapping | None:
        """Return what `forward` does, for attention that takes scores and weights together."""
        return Mapping(self.alpha, None)
