"""The mappings α-entmax of Correia et al. (2019) with their gradients in closed form; `thresholds` finds the weights.

The scores are taken in blocks that fit a core's cache, and heads with equal needs together. Half precision is raised
to float32, float64 stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from headcount.model.thresholds import TINY, Slopes, eager_on_cpu, solve, solve15, solve_softmax, solve_sparsemax

ALPHA_LOW, ALPHA_HIGH = 1.0, 2.0
"""The closed range of α; beyond 2, Newton's method has no guarantee."""

DELTA_LOW = 1e-7
"""α = 1 is computed at 1 + 1e-7, whose weights and gradients equal softmax's in float32."""

BLOCK = 262_144
"""Scores of a block: five float32 buffers of this size fit a core's share of cache."""

Solver = Callable[[Tensor, int, Tensor], Slopes]
"""A mapping without an α to choose, as `solve15`."""


class Mapping(NamedTuple):
    """How scores become weights: α-entmax with `alpha`, [head], or what `fixed` does."""

    alpha: Tensor | None
    fixed: Solver | None


SHORT = 28
"""Rows of fewer keys are summed faster along the first dimension, where rows lie side by side."""


def entmax15(scores: Tensor, mask: Tensor | None) -> Tensor:
    """1.5-entmax over the last dimension; no logarithm or exponential is needed.

    Args:
        scores: [batch, head, query, key].
        mask: boolean, broadcastable to `scores`, True = may attend; None lets every query attend to every key.

    Returns:
        Weights [batch, head, query, key] that sum to 1, exactly 0 at masked keys; rows without any key are all 0.

    """
    weights: Tensor = _Sparse.apply(scores, mask, None, solve15)  # type: ignore[no-untyped-call]
    return weights


def sparsemax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Sparsemax, α = 2, over the last dimension; scores, mask and result are those of `entmax15`."""
    weights: Tensor = _Sparse.apply(scores, mask, None, solve_sparsemax)  # type: ignore[no-untyped-call]
    return weights


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax, α = 1, over the last dimension; scores, mask and result are those of `entmax15`."""
    weights: Tensor = _Sparse.apply(scores, mask, None, solve_softmax)  # type: ignore[no-untyped-call]
    return weights


def entmax(scores: Tensor, alpha: Tensor, mask: Tensor | None) -> Tensor:
    """α-entmax over the last dimension with one learnable α per head; scores, mask and result are those of `entmax15`.

    alpha is [head], each value from 1 (softmax) to 2 (sparsemax), both included.

    Raises:
        ValueError: α has another shape or leaves its range; the range is not checked on a GPU, whose stream that would
            stall, or in a compiled graph, which it would break.

    """
    heads = scores.shape[1]
    if alpha.shape != (heads,):
        raise ValueError(f"alpha has shape {tuple(alpha.shape)}, expected ({heads},): one value for each head")
    if eager_on_cpu(alpha) and ((alpha < ALPHA_LOW) | (alpha > ALPHA_HIGH)).any():
        raise ValueError(f"alpha is {alpha.tolist()}, allowed: {ALPHA_LOW} to {ALPHA_HIGH}")
    alpha = alpha if torch.is_grad_enabled() else alpha.detach()  # saves what only the gradient of α needs
    weights: Tensor = _Sparse.apply(scores, mask, alpha, None)  # type: ignore[no-untyped-call]
    return weights


class _Sparse(Function):
    """α-entmax by head, or where `fixed` is given that mapping."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None, alpha: Tensor | None, fixed: Solver | None) -> Tensor:
        ctx.keys = keys = _keys(scores)
        weights = _empty(scores, keys)
        delta = None if alpha is None else above_softmax(alpha, weights.dtype)  # [head]
        saved: list[Tensor | None] = [delta]
        ctx.blocks = _blocks(scores, by_head=alpha is not None)
        for block in ctx.blocks:
            x = _shifted(scores[block], None if mask is None else mask.expand_as(scores)[block], keys)
            out = weights[block].movedim(-1, keys)
            of_head = None if delta is None else delta[block[1]]
            saved += solve_block(x, keys, out, of_head, fixed, of_alpha=ctx.needs_input_grad[2])
        ctx.save_for_backward(*saved)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor | None, None]:
        delta, *saved = ctx.saved_tensors
        keys = ctx.keys
        of_scores = _empty(gradient, keys)
        of_alpha = delta.new_zeros(delta.shape) if ctx.needs_input_grad[2] else None  # [head]
        for index, block in enumerate(ctx.blocks):
            slopes = Slopes(*saved[3 * index : 3 * index + 3])
            change = of_block(_arranged(gradient[block], keys), slopes, keys, of_scores[block].movedim(-1, keys))
            if of_alpha is not None:
                of_alpha[block[1]] += of_each_alpha(change, slopes, keys, delta[block[1]])
        return of_scores, None, of_alpha, None


def above_softmax(alpha: Tensor, dtype: torch.dtype) -> Tensor:
    """Return δ = α - 1, [head], as `solve_block` takes it."""
    return (alpha - 1).to(dtype).clamp_min(DELTA_LOW)


def solve_block(
    x: Tensor, keys: int, weights: Tensor, delta: Tensor | None, fixed: Solver | None, *, of_alpha: bool
) -> Slopes:
    """Write the weights of scores `x`, whose dimension `keys` is that of keys, by `fixed` or with δ of each head."""
    if fixed is not None:
        return fixed(x, keys, weights)
    assert delta is not None
    return solve(x, _for_rows(delta, x.narrow(keys, 0, 1), keys), keys, weights, of_alpha=of_alpha)


def of_block(gradient: Tensor, slopes: Slopes, keys: int, out: Tensor) -> Tensor:
    """Write the gradient of the scores to `out`, which may not be that of the weights, the given one."""
    mean = torch.mul(gradient, slopes.s, out=out).sum(keys, keepdim=True).div_(slopes.total.clamp_min(TINY))  # under s
    return torch.sub(gradient, mean, out=out).mul_(slopes.s)


def of_each_alpha(change: Tensor, slopes: Slopes, keys: int, delta: Tensor) -> Tensor:
    """Return the gradient of α, [head]: sum_i g_i dp_i/dα = -sum_i (g_i - mean) s_i c_i, with the scores' `change`."""
    assert slopes.c is not None
    return (change * slopes.c).movedim(keys, -1).sum((0, 2, 3)).div_(-delta.square())


def _blocks(scores: Tensor, *, by_head: bool) -> list[tuple[slice, slice]]:
    """Return sentences and heads of each block; a GPU and the compiler cut work up themselves and get one block."""
    batch, heads, queries, keys = scores.shape
    size = BLOCK if eager_on_cpu(scores) else scores.numel()
    heads_together = max(1, min(heads, size // max(1, batch * queries * keys) if by_head else heads))
    together = max(1, size // max(1, heads_together * queries * keys))
    return [
        (slice(sentence, sentence + together), slice(head, head + heads_together))
        for head in range(0, heads, heads_together)
        for sentence in range(0, batch, together)
    ]


def _keys(scores: Tensor) -> int:
    """Return the dimension of keys inside a block: the last, or the first where rows are short."""
    return 0 if scores.shape[-1] < SHORT and eager_on_cpu(scores) else -1


def _empty(scores: Tensor, keys: int) -> Tensor:
    """Return new memory for [batch, head, query, key] in which the dimension `keys` is that of the keys."""
    shape = scores.movedim(-1, keys).shape
    return scores.new_empty(shape, dtype=torch.promote_types(scores.dtype, torch.float32)).movedim(keys, -1)


def _shifted(scores: Tensor, mask: Tensor | None, keys: int) -> Tensor:
    """Return scores minus the maximum of their row, masked keys -inf: keys moved to `keys`, new memory."""
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    x = _arranged(scores, keys).to(torch.promote_types(scores.dtype, torch.float32))
    return x - x.amax(keys, keepdim=True).clamp_min_(torch.finfo(x.dtype).min)  # a row without any key stays -inf


def _arranged(values: Tensor, keys: int) -> Tensor:
    """Move the keys of [batch, head, query, key] to the dimension `keys`, also in memory."""
    return values if keys == -1 else values.movedim(-1, keys).contiguous()


def _for_rows(delta: Tensor, rows: Tensor, keys: int) -> Tensor:
    """Repeat [head] for each row."""
    return delta.view(-1, 1, *[1] * -keys).expand_as(rows).contiguous()
