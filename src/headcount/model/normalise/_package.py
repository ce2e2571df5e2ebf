"""α-entmax by the bisection of the entmax package, made safe for masks, offsets and second derivatives."""

from __future__ import annotations

import math
from typing import Any

import entmax as package
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

STEPS = 50
"""Halvings of the bracket: the package's default, to which 25 are equal in float32 (correia2019's code has 25)."""


def bisected(scores: Tensor, alpha: Tensor, mask: Tensor | None) -> Tensor:
    """α-entmax over the last dimension for any α > 1; arguments and result as in `model.entmax.entmax`.

    The package gives NaN for a row without any key and loses digits with the offset of a row, so such rows are computed
    without a mask and the maximum is taken off first. Its second derivatives are wrong and therefore refused. Float32
    at least; the weights lose their digits from α = 2.5 on in float32 and from 4 on in float64.
    """
    scores, alpha = _Once.apply(scores, alpha)  # type: ignore[no-untyped-call]
    x = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is not None:
        x = x.masked_fill(~mask & mask.any(-1, keepdim=True), -math.inf)
    x = x - x.detach().amax(-1, keepdim=True)
    weights: Tensor = package.entmax_bisect(x, alpha[:, None, None].to(x.dtype), n_iter=STEPS)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


class _Once(Function):
    """The identity, but for its second derivative, which raises."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
        return scores.view_as(scores), alpha.view_as(alpha)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_scores: Tensor, of_alpha: Tensor) -> tuple[Tensor, Tensor]:
        return of_scores, of_alpha
