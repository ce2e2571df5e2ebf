"""Sparsemax, the sparse end of α-entmax: the projection onto the simplex (Martins & Astudillo 2016)."""

from __future__ import annotations

from torch import Tensor

from headcount.model.entmax import Mapping, sparsemax
from headcount.model.normalise._exact import ExactAlpha
from headcount.model.thresholds import solve_sparsemax


class Normaliser(ExactAlpha):
    """Map scores to weights by sparsemax; arguments and result as in `softmax.Normaliser`."""

    ALPHA = 2.0
    MAPPING = Mapping(None, solve_sparsemax)

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return sparsemax(scores, mask)
