"""Softmax, the dense baseline."""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.model.entmax import Mapping, softmax
from headcount.model.normalise._exact import ExactAlpha
from headcount.model.thresholds import eager_on_cpu, solve_softmax

VECTOR = 16
"""Numbers that a CPU treats at once: PyTorch's softmax of a shorter row goes number by number, several times slower."""


class Normaliser(ExactAlpha):
    """Map scores to weights by softmax, in float32 at least."""

    ALPHA = 1.0
    MAPPING = Mapping(None, solve_softmax)

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise over keys.

        Args:
            scores: [batch, head, query, key].
            mask: boolean, broadcastable to `scores`, True = may attend; None lets every query attend to every key.

        Returns:
            Weights of the shape of `scores`, exactly 0 at masked keys; rows without any key are all 0.

        """
        if scores.shape[-1] < VECTOR and eager_on_cpu(scores):
            return softmax(scores, mask)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        if mask is None:
            return scores.softmax(-1)
        allowed = mask.to(scores.dtype)  # to fill in by the boolean would take several times longer
        lowest = torch.finfo(scores.dtype).min  # not -inf: a row without any key would become NaN
        return (scores + (1 - allowed) * lowest).softmax(-1) * allowed
