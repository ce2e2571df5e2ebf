"""Sparsemax, the sparse end of α-entmax: the projection onto the simplex (Martins & Astudillo 2016)."""

from __future__ import annotations

from torch import Tensor

from headcount.model.entmax import sparsemax
from headcount.model.normalise._exact import ExactAlpha


class Normaliser(ExactAlpha):
    """Map scores to weights by sparsemax; arguments and result as in `softmax.Normaliser`."""

    ALPHA = 2.0

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return sparsemax(scores, mask)
