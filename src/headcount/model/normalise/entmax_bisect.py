"""α-entmax with one learned α for each head by the entmax package, as in the authors' code; slow, to compare with."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from headcount.model.normalise._learned import LearnedAlpha
from headcount.model.normalise._package import bisected
from headcount.model.shape import AlphaOptions

LOWEST = 1.01
"""The authors' clamp: below it the package's gradient of α loses its digits, and at 1 its weights are uniform."""


class Normaliser(LearnedAlpha):
    """As `entmax_alpha`, but for the algorithm and the clamp, which is always there."""

    by_head = True

    def __init__(self, heads: int, options: AlphaOptions) -> None:
        super().__init__(heads, replace(options, lowest=max(options.lowest, LOWEST)))

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return bisected(scores, self.alpha, mask)

    def mapping(self) -> None:
        """Only `forward` does this."""
