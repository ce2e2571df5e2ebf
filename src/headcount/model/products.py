"""Large products with a weight matrix on a CPU, by oneDNN where PyTorch was built with it.

PyTorch multiplies float32 matrices by MKL; oneDNN's own code is a tenth faster with AVX-512. The gradient of the
weights stays with MKL, as oneDNN would copy what it reads by columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from headcount.model.thresholds import eager_on_cpu

LARGE = 4_000_000
"""Multiplications from which on oneDNN's preparation of a call is worth it."""


def suits(states: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN multiplies these: states [..., input], weight [output, input]."""
    return (
        eager_on_cpu(states)
        and states.numel() * len(weight) >= LARGE
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and bool(torch.backends.mkldnn.enabled)
        and states.dtype == weight.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
    )


def product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return rows @ weight.T + bias, [row, output]; there is no gradient."""
    if not suits(rows, weight):
        return F.linear(rows, weight, bias)
    result: Tensor = torch.ops.mkldnn._linear_pointwise.default(rows, weight, bias, "none", [], "")
    return result


def linear(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return `F.linear`, with its gradients; states are [batch, position, input]."""
    if not suits(states, weight):
        return F.linear(states, weight, bias)
    multiply: Callable[..., Tensor] = _Linear.apply if torch.is_grad_enabled() else product
    return multiply(states.flatten(0, -2), weight, bias).view(*states.shape[:-1], -1)


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return product(rows, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        return (
            product(g, weight.T) if of_rows else None,
            g.T @ rows if of_weight else None,
            g.sum(0) if of_bias else None,
        )
