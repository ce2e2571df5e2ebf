"""The mapping α-entmax of Correia et al. (2019) with its gradients in closed form.

With δ = α - 1, α-entmax of a row z is p_i = [δ z_i - τ]_+^(1/δ) for the one τ at which p sums to 1. Here
x = δ (z - max z) and p(t) = [1 + x - t]_+^(1/δ), so that t = 0 gives the largest weight exactly 1 and F = sum p >= 1.
F^δ is the l_(1/δ) norm of a clipped affine function: convex and decreasing for 1 < α <= 2. Newton's method on it
therefore climbs from t = 0 to the root without a bracket and without overshooting:

    t <- t + F/S (1 - F^-δ)    with S = sum p/(1 + x - t) = sum p^(2-α)

It is exact after one step for α -> 1 (softmax) and finite for α = 2 (sparsemax). Inside, keys are the first dimension:
a sum over keys then adds long contiguous rows, several times faster on a CPU than sums along short rows. Half
precision is raised to float32, float64 stays.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

ALPHA_LOW, ALPHA_HIGH = 1.0, 2.0
"""The closed range of α; beyond 2, F^δ is no norm and Newton's method loses its guarantee."""

DELTA_LOW = 1e-7
"""α = 1 is computed at 1 + 1e-7, whose weights and gradients equal softmax's in float32."""

TINY = 1e-30
"""Smallest divisor and argument of a logarithm; where it acts, the factor beside it is 0."""

SERIES = 0.3
"""Below this w the series of (e^w - 1 - w)/w² is used, above it the direct form; both are good to 5e-7 there."""


def entmax15(scores: Tensor, mask: Tensor | None) -> Tensor:
    """1.5-entmax over the last dimension; no logarithm or exponential is needed.

    Args:
        scores: [batch, head, query, key].
        mask: boolean, broadcastable to `scores`, True = may attend; None lets every query attend to every key.

    Returns:
        Weights [batch, head, query, key] that sum to 1, exactly 0 at masked keys; rows without any key are all 0.

    """
    weights: Tensor = _Entmax15.apply(scores, mask)  # type: ignore[no-untyped-call]
    return weights


def entmax(scores: Tensor, alpha: Tensor, mask: Tensor | None) -> Tensor:
    """α-entmax over the last dimension with one learnable α per head; scores, mask and result are those of `entmax15`.

    alpha is [head], each value from 1 (softmax) to 2 (sparsemax), both included.

    Raises:
        ValueError: α has another shape or, on a CPU, leaves its range; on a GPU that check would stall the stream.

    """
    heads = scores.shape[1]
    if alpha.shape != (heads,):
        raise ValueError(f"alpha has shape {tuple(alpha.shape)}, expected ({heads},): one value for each head")
    if alpha.device.type == "cpu" and ((alpha < ALPHA_LOW) | (alpha > ALPHA_HIGH)).any():
        raise ValueError(f"alpha is {alpha.tolist()}, allowed: {ALPHA_LOW} to {ALPHA_HIGH}")
    weights: Tensor = _Entmax.apply(scores, alpha, mask)  # type: ignore[no-untyped-call]
    return weights


def sparsemax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Sparsemax, α = 2, over the last dimension; scores, mask and result are those of `entmax15`."""
    weights: Tensor = _Sparsemax.apply(scores, mask)  # type: ignore[no-untyped-call]
    return weights


class _Entmax15(Function):
    """δ = 1/2: p is a square, F^δ the l2 norm and S the l1 norm of the root s."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None) -> Tensor:
        x = _shifted(scores, mask).mul_(0.5)  # [key, batch, head, query]
        tau = torch.full_like(x[0], -1.0)  # [batch, head, query]; t - 1 in the notation above
        for _ in range(_iterations(x)):
            s = torch.sub(x, tau).clamp_min_(0)
            norm = s.square().sum(0).sqrt_()
            tau += norm * (norm - 1) / s.sum(0).clamp_min_(TINY)
        s = torch.sub(x, tau).clamp_min_(0)
        s /= s.square().sum(0).sqrt_().clamp_min_(TINY)
        ctx.save_for_backward(s)
        return s.square().movedim(0, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (s,) = ctx.saved_tensors
        g = _keys_first(gradient)
        g -= _mean(g, s)
        return g.mul_(s).movedim(0, -1), None


class _Sparsemax(Function):
    """δ = 1: F is piecewise linear, and a Newton step is the exact solution for the keys that have weight now.

    A step that takes no key away has arrived. F - 1 times the number of keys with weight falls to a quarter in every
    step, which bounds their number; rows that need more than half a dozen have to be constructed.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None) -> Tensor:
        x = _shifted(scores, mask)  # [key, batch, head, query]
        tau = torch.full_like(x[0], -1.0)  # [batch, head, query]; t - 1 in the notation above
        p = torch.sub(x, tau).clamp_min_(0)
        size = (p > 0).sum(0)  # [batch, head, query]
        for _ in range(math.ceil(math.log2(x.shape[0]) - math.log2(torch.finfo(x.dtype).eps) / 2)):
            before = size
            tau += (p.sum(0) - 1) / size.clamp_min(1)
            p = torch.sub(x, tau, out=p).clamp_min_(0)
            size = (p > 0).sum(0)
            if size.device.type == "cpu" and torch.equal(size, before):  # a GPU would have to wait for the answer
                break
        ctx.save_for_backward(p > 0)
        p /= p.sum(0).clamp_min_(TINY)
        return p.movedim(0, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        g = _keys_first(gradient)
        s = ctx.saved_tensors[0].to(g.dtype)
        g -= _mean(g, s)
        return g.mul_(s).movedim(0, -1), None


class _Entmax(Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: Tensor, mask: Tensor | None) -> Tensor:
        x = _shifted(scores, mask)  # [key, batch, head, query]
        delta = (alpha - 1).to(x.dtype).clamp_min(DELTA_LOW)  # [head]
        delta = delta[:, None].expand_as(x[0]).contiguous()  # [batch, head, query]
        x *= delta
        exponent = math.log2(math.e) / delta
        t = torch.zeros_like(delta)
        for _ in range(_iterations(x)):
            p, s = _powers(x, t, exponent)
            total = p.sum(0)
            t -= total / s.sum(0).clamp_min_(TINY) * torch.expm1(-delta * total.clamp_min(1.0).log_())
        p, s = _powers(x, t, exponent)
        total = p.sum(0).clamp_min_(TINY)
        p /= total
        s /= total
        ctx.save_for_backward(p, s, delta)
        return p.movedim(0, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """Return the gradients of scores and α.

        dp/dz = diag(s) - s s^T / sum s. With h_i = (s_i - p_i + δ p_i log p_i)/δ², which is >= 0 and free of the
        paper's 1/(α - 1)² cancellation when its series is used, dp_i/dα = s_i (sum h)/(sum s) - h_i.
        """
        p, s, delta = ctx.saved_tensors
        g = _keys_first(gradient)
        g -= _mean(g, s)
        gradient_alpha = None
        if ctx.needs_input_grad[1]:
            # sum_i g_i dp_i/dα = -sum_i (g_i - mean of g under s) h_i
            gradient_alpha = -(_curvature(p, s, delta).mul_(g)).sum((0, 1, 3))  # [head]
        return g.mul_(s).movedim(0, -1), gradient_alpha, None


def _shifted(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return scores minus the maximum of their row, masked keys -inf: [key, batch, head, query], new memory."""
    x = _keys_first(scores)
    if mask is not None:
        x.masked_fill_((~mask).expand_as(scores).movedim(-1, 0), -math.inf)
    x -= x.amax(0).clamp_min_(torch.finfo(x.dtype).min)  # a row without any key stays -inf instead of NaN
    return x


def _keys_first(values: Tensor) -> Tensor:
    """Copy [batch, head, query, key] to contiguous [key, batch, head, query] of at least float32."""
    precise = torch.promote_types(values.dtype, torch.float32)
    return values.movedim(-1, 0).to(precise).clone(memory_format=torch.contiguous_format)


def _iterations(x: Tensor) -> int:
    """Newton steps that reach the last bit of float32: one more for four times the keys; two more for float64."""
    return 4 + math.ceil(math.log(x.shape[0], 4)) + 2 * (x.dtype == torch.float64)


def _powers(x: Tensor, t: Tensor, exponent: Tensor) -> tuple[Tensor, Tensor]:
    """Return p = [1 + x - t]_+^(1/δ) and s = p^(2-α) = p/(1 + x - t); exponent is log2(e)/δ."""
    base = torch.sub(x, t).clamp_min_(-1)
    p = base.log1p().mul_(exponent).exp2_()  # exp2 keeps its speed at -inf, exp does not
    return p, torch.div(p, base.add_(1).clamp_min_(TINY), out=base)


def _mean(values: Tensor, s: Tensor) -> Tensor:
    """Average over keys weighted by s; 0 for a row without any key."""
    return (values * s).sum(0) / s.sum(0).clamp_min_(TINY)


def _curvature(p: Tensor, s: Tensor, delta: Tensor) -> Tensor:
    """Return h of `_Entmax.backward` = p log²p (e^w - 1 - w)/w² with w = -δ log p."""
    surprise = p.clamp_min(TINY).log_().neg_()
    w = surprise * delta
    series = torch.full_like(w, 1 / 5040)
    for factorial in (720, 120, 24, 6, 2):
        series.mul_(w).add_(1 / factorial)
    series *= surprise.square_().mul_(p)
    direct = (s - p * (w + 1)) / delta.square()
    return torch.where(w < SERIES, series, direct)
