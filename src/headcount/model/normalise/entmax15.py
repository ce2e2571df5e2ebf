"""1.5-entmax: sparse weights at a fixed α (Correia et al. 2019)."""

from __future__ import annotations

from torch import Tensor

from headcount.model.entmax import Mapping, entmax15
from headcount.model.normalise._exact import ExactAlpha
from headcount.model.thresholds import solve15


class Normaliser(ExactAlpha):
    """Map scores to weights by 1.5-entmax; arguments and result as in `softmax.Normaliser`."""

    ALPHA = 1.5
    MAPPING = Mapping(None, solve15)

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return entmax15(scores, mask)
