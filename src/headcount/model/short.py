"""Attention over few keys on a CPU, in training: products, mapping and all their gradients as one function.

PyTorch's fused kernel treats the row of a query by itself and costs a short one three times its arithmetic; a sixth of
a training step on sentences of a dozen pieces. Here the keys are the first dimension: what goes over a row goes over
all rows of a batch at once. What is computed is that of `MultiHeadAttention`, step by step.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from headcount.model.entmax import Mapping, Solver, above_softmax, of_block, of_each_alpha, solve_block
from headcount.model.thresholds import Slopes, eager_on_cpu

KEYS = range(1, 32)
"""Numbers of keys for which this is faster than the fused kernel; at 32 it wins again."""


def suits(queries: Tensor, keys: Tensor) -> bool:
    """Whether this is the faster way for queries and keys [batch, head, position, channel]."""
    exact = queries.dtype in (torch.float32, torch.float64)  # weights of half precision would be none
    return eager_on_cpu(queries) and exact and torch.is_grad_enabled() and keys.shape[2] in KEYS


def attend(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None, mapping: Mapping) -> Tensor:
    """Return mapping(Q K^T / sqrt(channels)) V, [batch, head, query, channel].

    Args:
        queries: [batch, head, query, channel].
        keys: [batch, head, key, channel].
        values: [batch, head, key, channel].
        allowed: [batch or 1, 1, query or 1, key], True = may attend; None allows everything.
        mapping: from scores to weights; a query without any key gets zeros.

    """
    mixed: Tensor = _Attention.apply(queries, keys, values, allowed, *mapping)  # type: ignore[no-untyped-call]
    return mixed


class _Attention(Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        allowed: Tensor | None,
        alpha: Tensor | None,
        fixed: Solver | None,
    ) -> Tensor:
        batch, heads, length, channels = queries.shape
        scaled = torch.mul(queries, channels**-0.5, out=queries.new_empty(queries.shape))
        q, k, v = (part.reshape(batch * heads, -1, channels) for part in (scaled, keys, values))
        x = _keys_first(torch.bmm(k, q.mT)).view(-1, batch, heads, length)  # [key, batch, head, query]
        if allowed is not None:
            x += torch.where(allowed, 0.0, -math.inf).to(x.dtype).movedim(-1, 0)
        x -= x.amax(0, keepdim=True).clamp_min_(torch.finfo(x.dtype).min)  # a row without any key stays -inf
        delta = None if alpha is None else above_softmax(alpha, x.dtype)  # [head]
        weights = torch.empty_like(x)
        slopes = solve_block(x, 0, weights, delta, fixed, of_alpha=ctx.needs_input_grad[4])
        ctx.save_for_backward(q, k, v, weights, delta, *slopes)
        return torch.bmm(weights.flatten(1, 2).permute(1, 2, 0), v).view(queries.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, delta, *saved = ctx.saved_tensors
        slopes = Slopes(*saved)
        batch, heads, _, channels = gradient.shape
        g = gradient.reshape(batch * heads, -1, channels)
        of_values = torch.bmm(weights.flatten(1, 2).transpose(0, 1), g)
        of_weights = _keys_first(torch.bmm(v, g.mT)).view_as(weights)
        change = of_block(of_weights, slopes, 0, torch.empty_like(weights))
        of_alpha = of_each_alpha(change, slopes, 0, delta) if ctx.needs_input_grad[4] else None
        change = change.flatten(1, 2)  # [key, batch * head, query]
        of_queries = torch.bmm(change.permute(1, 2, 0), k).mul_(channels**-0.5)
        of_keys = torch.bmm(change.transpose(0, 1), q)
        shaped = (part.view(batch, heads, -1, channels) for part in (of_queries, of_keys, of_values))
        return *shaped, None, of_alpha, None


def _keys_first(scores: Tensor) -> Tensor:
    """[batch * head, key, query] -> [key, batch * head, query], also in memory."""
    return scores.transpose(0, 1).contiguous()
