"""1.5-entmax: sparse weights at a fixed α (Correia et al. 2019)."""

from __future__ import annotations

from torch import Tensor, nn

from headcount.model.entmax import entmax15


class Normaliser(nn.Module):
    """Map scores to weights by 1.5-entmax; arguments and result as in `softmax.Normaliser`."""

    def __init__(self, heads: int) -> None:
        super().__init__()

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys."""
        return entmax15(scores, mask)
