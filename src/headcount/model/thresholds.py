"""Newton's method for the threshold of α-entmax, the one number of a row at which its weights sum to 1.

With δ = α - 1, α-entmax of a row z is p_i = [δ z_i - τ]_+^(1/δ) (Correia et al. 2019). Here x = z - max z and
p(t) = [1 + δ x - t]_+^(1/δ), so that t = 0 gives the largest weight exactly 1 and F = sum p >= 1. F^δ is the l_(1/δ)
norm of a clipped affine function: convex and decreasing for 1 < α <= 2. Newton's method on it

    t <- t + F/S (1 - F^-δ)    with S = sum p/(1 + δ x - t) = sum p^(2-α)

needs no bracket: from either side its first step lands below the root, the next ones climb to it without overshooting.
It is exact after one step for α -> 1 (softmax) and finite for α = 2 (sparsemax).

Each function takes x, whose memory it uses up, and writes the weights to `weights`. Keys are the first dimension of
both or the last, `keys`; a row without any key is -inf throughout and gets zeros. The number of steps suffices for any
row; on a CPU they end when the slowest row has arrived, while a GPU would have to wait for that answer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

TINY = 1e-30
"""Smallest divisor and argument of a logarithm; where it acts, the factor beside it is 0."""

SERIES = 0.25
"""Below this w the series of (e^w - 1 - w)/w² is used, above it the direct form; both are good to 1e-6 there."""

STEEP = 0.2
"""From this δ on the direct form alone is as good: a w below SERIES is then a key whose weight is nearly 1."""


class Slopes(NamedTuple):
    """What the gradients need: dp/dz = diag(s) - s s^T / sum s and dp_i/dα = s_i (sum_j s_j c_j)/(sum s) - s_i c_i."""

    s: Tensor  # of the shape of x; p^(2-α) where there is weight, else 0
    total: Tensor  # sum of s, of the shape of x but for one key
    c: Tensor | None = None  # of the shape of x; δ² c, if it was asked for


def eager_on_cpu(values: Tensor) -> bool:
    """Whether the value of a tensor may decide what is done next."""
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


def solve_softmax(x: Tensor, keys: int, weights: Tensor) -> Slopes:
    """Softmax, α = 1, which needs no threshold."""
    p = torch.exp(x, out=weights)
    p /= p.sum(keys, keepdim=True).clamp_min_(TINY)
    return Slopes(p, torch.ones_like(x.narrow(keys, 0, 1)))


def solve15(x: Tensor, keys: int, weights: Tensor) -> Slopes:
    """1.5-entmax: p is a quarter of the square of s = [x - τ]_+, F^δ half its l2 norm; nothing but arithmetic."""
    s = x.add_(2).relu_()
    arrived = 2 * (1 + 2 * math.sqrt(torch.finfo(x.dtype).eps))
    for _ in range(_steps(x, keys)):
        norm = _norm(s, keys, weights)  # [..., 1]
        change = norm * (norm - 2) / s.sum(keys, keepdim=True).clamp_min_(TINY)
        s.sub_(change.clamp_min_(0)).relu_()  # never down by rounding: a key that is out stays out
        if eager_on_cpu(x) and norm.max().item() <= arrived:  # a step squares the error, and a scale follows
            break
    s /= _norm(s, keys, weights).clamp_min_(TINY)
    torch.mul(s, s, out=weights)
    return Slopes(s, s.sum(keys, keepdim=True))


def _norm(s: Tensor, keys: int, space: Tensor) -> Tensor:
    """Return the l2 norm over keys; PyTorch's own is fast along the last dimension only. `space` is written over."""
    if keys == -1:
        norm: Tensor = torch.linalg.vector_norm(s, dim=keys, keepdim=True)
        return norm
    return torch.mul(s, s, out=space).sum(keys, keepdim=True).sqrt_()


def solve_sparsemax(x: Tensor, keys: int, weights: Tensor) -> Slopes:
    """Sparsemax, α = 2: F is piecewise linear, a Newton step is the exact solution for the keys that have weight now.

    A step that takes no key away has arrived. F - 1 times the number of keys with weight falls to a quarter in every
    step, which bounds their number; rows that need more than half a dozen have to be constructed.
    """
    tau = torch.full_like(x.narrow(keys, 0, 1), -1.0)  # [..., 1]
    p = torch.sub(x, tau, out=weights).clamp_min_(0)
    s = p.sign()
    size = s.sum(keys, keepdim=True)  # [..., 1]
    for _ in range(math.ceil(math.log2(x.shape[keys]) - math.log2(torch.finfo(x.dtype).eps) / 2)):
        before = size
        tau += (p.sum(keys, keepdim=True) - 1) / size.clamp_min(1)
        torch.sub(x, tau, out=p).clamp_min_(0)
        size = torch.sign(p, out=s).sum(keys, keepdim=True)
        if eager_on_cpu(x) and torch.equal(size, before):
            break
    p /= p.sum(keys, keepdim=True).clamp_min_(TINY)
    return Slopes(s, size)


def solve(x: Tensor, delta: Tensor, keys: int, weights: Tensor, *, of_alpha: bool) -> Slopes:
    """α-entmax with δ = `delta`, one number for each row: [..., 1] for keys last.

    The last step is so short that it is taken in p and not in t: dp/dt = -s/δ.
    """
    x *= delta
    t = _start(x, delta, keys)
    exponent = math.log2(math.e) / delta
    u, log, p, s = (torch.empty_like(x) for _ in range(4))
    arrived = 1 + torch.finfo(x.dtype).eps ** (2 / 3)
    for step in range(_steps(x, keys) + 1):
        torch.sub(x, t, out=u).clamp_min_(-1)
        torch.log1p(u, out=log)
        torch.mul(log, exponent, out=p).exp2_()  # exp2 keeps its speed at -inf, exp does not
        torch.div(p, torch.add(u, 1, out=s).clamp_min_(TINY), out=s)
        total = p.sum(keys, keepdim=True)  # [..., 1]
        change = -torch.expm1(-delta * total.clamp_min(TINY).log_())
        change *= total / s.sum(keys, keepdim=True).clamp_min_(TINY)
        if step and eager_on_cpu(x) and total.max().item() <= arrived:  # only the start can be beyond the root
            break
        t += change
    torch.addcmul(p, s, change / delta, value=-1, out=weights).clamp_min_(0)
    base = torch.add(u, 1, out=s).sub_(change).clamp_min_(TINY)  # 1 + δ x - t at the root, exact also near 0
    c = _curvature(u, log, base, delta) if of_alpha else None
    s = torch.div(weights, base, out=base)
    return Slopes(s, s.sum(keys, keepdim=True), c)


def _steps(x: Tensor, keys: int) -> int:
    """Newton steps that reach the last bit of float32: one more for four times the keys; two more for float64."""
    return 4 + math.ceil(math.log(x.shape[keys], 4)) + 2 * (x.dtype == torch.float64)


def _start(x: Tensor, delta: Tensor, keys: int) -> Tensor:
    """Return the t at which the largest weight is about that of 1.5-entmax of the same 1 + δ x: after one step."""
    s = torch.add(x, 1).clamp_min_(0)
    total = s.sum(keys, keepdim=True).clamp_min_(TINY)  # [..., 1]
    norm = s.square_().sum(keys, keepdim=True).sqrt_()
    root = 1 - norm * (norm - 1) / total  # of the largest weight
    return torch.expm1(2 * delta * root.log_()).neg_()


def _curvature(u: Tensor, log: Tensor, base: Tensor, delta: Tensor) -> Tensor:
    """Return δ² c = 1 - e^-w - w e^-w with e^-w = `base` = p^δ, which is w² e^-w (e^w - 1 - w)/w², by either form.

    The paper's 1/(α - 1)² cancels against it; without the series, so would all digits for α -> 1.
    """
    log.clamp_min_(-100)  # instead of -inf, beside a base of 0; no other is as low
    direct = torch.mul(base, log).sub_(u)  # u is from before the last step and makes up for that in `log`
    if eager_on_cpu(delta) and delta.min().item() >= STEEP:
        return direct
    near = torch.gt(log, -SERIES, out=u)  # 1 or 0
    series = torch.full_like(log, -1 / 720)
    for factorial in (120, -24, 6, -2):
        series.mul_(log).add_(1 / factorial)
    return direct.lerp_(series.mul_(log.square_()).mul_(base).neg_(), near)
