"""The rules of layer-wise relevance propagation (voita2019 section 4 and appendix A), as derivatives of the network.

A unit v is a sum of contributions, v = Σ_u z_uv, where z_uv = W_vu u of each input u, and a bias is one more input
that is always on. A rule says how the relevance R_v of the unit is shared among them; R_u collects what u gets from
all the units it contributes to. With |z|_v = Σ_u |z_uv|:

    ε     R_u = Σ_v z_uv R_v / (v + ε |z|_v sign v)
    α-β   R_u = Σ_v (α z⁺_uv / Σ z⁺_v + β z⁻_uv / Σ z⁻_v) R_v        α = β = 1/2, z⁻ = max(-z, 0)

α-β is that of the authors' code, in which negative contributions count as positive ones; where a unit has contributions
of one sign only they get all of its relevance. Both have the form R_u = Σ_v (a_v z_uv + b_v |z_uv|) R_v, so that a rule
is the pair (a, b). Relevance is conserved: what leaves the units equals what reaches their inputs and biases. The
paper does not say who gets the share of a bias and the authors' code spreads it evenly; here the bias keeps it, because
else a head that is multiplied by 0 would be relevant.

What is not a sum passes relevance on unchanged: ReLU, and factors that are held constant. These are the gates, the
scale 1 / sd of a layer norm (its centring is a sum) and the attention weights: relevance reaches a position through
its value, not through queries and keys, the choice `consider_attn_constant` of the authors' code. With the whole
derivative instead, the ε rule has nothing to share: a layer norm does not change when its input is scaled, hence
Σ_u u dv/du = 0.

PyTorch's backward pass carries the relevance in place of gradients: each function below returns, as "gradient" of an
input, the relevance of that input. For ε = 0 the ε rule is gradient times input of the network in which the factors
held constant are constants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

ONE_SIDED = 1e-5
"""Contributions of one sign that are a smaller part of |z| are taken for rounding errors of none."""


class Gradient:
    """Ordinary derivatives, to compare: the meter on an activation reads Σ activation · d output / d activation."""

    def start(self, outputs: Tensor) -> Tensor:
        """Return what is propagated from the outputs."""
        return torch.ones_like(outputs)

    def weights(self, weights: Tensor) -> Tensor:
        """Return attention weights as they are used."""
        return weights

    def linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Map the last dimension; `weight` is [.., out, in]."""
        total = inputs @ weight.mT
        return total if bias is None else total + bias

    def add(self, first: Tensor, second: Tensor) -> Tensor:
        """Add two tensors of one shape."""
        return first + second

    def norm(self, inputs: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Apply a layer norm."""
        normed: Tensor = norm(inputs)
        return normed

    def relu(self, inputs: Tensor) -> Tensor:
        """Apply ReLU."""
        return inputs.relu()

    def scale(self, inputs: Tensor, factor: Tensor) -> Tensor:
        """Multiply by a constant factor."""
        return inputs * factor

    def meter(self, inputs: Tensor, gauge: Tensor) -> Tensor:
        """Return the inputs [batch, head, position, channel]; the gradient of `gauge`, ones [batch, head], is read."""
        return inputs * gauge[..., None, None]


class Rule(ABC):
    """Relevance: the same operations as those of `Gradient`, with relevance as their derivative."""

    @abstractmethod
    def shares(self, total: Tensor, size: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return a and b (None = 0) of each unit from Σ z and Σ |z|."""

    def start(self, outputs: Tensor) -> Tensor:
        """Return the relevance of the outputs: their own value."""
        return outputs.detach()

    def weights(self, weights: Tensor) -> Tensor:
        """Hold attention weights constant: no backward pass visits queries and keys."""
        return weights.detach()

    def linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Map the last dimension; `weight` is [.., out, in]."""
        result: Tensor = _Linear.apply(inputs, weight, bias, self)  # type: ignore[no-untyped-call]
        return result

    def add(self, first: Tensor, second: Tensor) -> Tensor:
        """Add two tensors of one shape."""
        result: Tensor = _Add.apply(first, second, self)  # type: ignore[no-untyped-call]
        return result

    def norm(self, inputs: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Scale by the constant 1 / sd, then map by y_v = γ_v Σ_u (δ_uv - 1 / width) x_u + β_v."""
        width = inputs.shape[-1]
        inverse_sd = (inputs.var(-1, unbiased=False, keepdim=True) + norm.eps).rsqrt()
        centring = torch.eye(width, dtype=inputs.dtype, device=inputs.device) - 1 / width  # [out, in]
        return self.linear(self.scale(inputs, inverse_sd), norm.weight[:, None] * centring, norm.bias)

    def relu(self, inputs: Tensor) -> Tensor:
        """Apply ReLU; a unit that it sets to 0 contributes nothing and has no relevance to pass on."""
        return _passed(inputs, inputs.relu())

    def scale(self, inputs: Tensor, factor: Tensor) -> Tensor:
        """Multiply by a constant factor."""
        return _passed(inputs, inputs * factor)

    def meter(self, inputs: Tensor, gauge: Tensor) -> Tensor:
        """Return the inputs [batch, head, position, channel]; the gradient of `gauge` [batch, head] is their sum."""
        result: Tensor = _Meter.apply(inputs, gauge)  # type: ignore[no-untyped-call]
        return result


class Epsilon(Rule):
    """The ε rule: ε bounds what a contribution gets by 1/ε of the unit's relevance, and is the only relevance lost."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def shares(self, total: Tensor, size: Tensor) -> tuple[Tensor, None]:
        """Return a = 1 / (v + ε |z| sign v), and 0 for a unit without any contribution."""
        denominator = total.abs() + self.epsilon * size
        sign = torch.where(total < 0, -1.0, 1.0).to(total.dtype)
        return torch.where(denominator > torch.finfo(total.dtype).tiny, sign / denominator, 0.0), None


class AlphaBeta(Rule):
    """The α-β rule with α = β = 1/2; relevance never changes its sign."""

    def shares(self, total: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        """Return a = (p - n) / 2 and b = (p + n) / 2 with p = α / Σ z⁺ and n = β / Σ z⁻; z = z⁺ - z⁻, |z| = z⁺ + z⁻."""
        positive, negative = (size + total) / 2, (size - total) / 2
        has_positive, has_negative = positive > ONE_SIDED * size, negative > ONE_SIDED * size
        part = torch.where(has_positive & has_negative, 0.5, 1.0).to(total.dtype)
        p = torch.where(has_positive, part / positive, 0.0)
        n = torch.where(has_negative, part / negative, 0.0)
        return (p - n) / 2, (p + n) / 2


class _Linear(Function):
    """v = Σ_u W_vu u + bias_v over the last dimension."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, rule: Rule) -> Tensor:
        sizes = inputs.abs(), weight.abs()  # kept, because many backward passes follow one forward pass
        total, size = inputs @ weight.mT, sizes[0] @ sizes[1].mT
        if bias is not None:
            total, size = total + bias, size + bias.abs()
        ctx.save_for_backward(inputs, weight, bias, *sizes, *rule.shares(total, size))
        return total

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> tuple[Tensor, None, Tensor | None, None]:
        inputs, weight, bias, input_size, weight_size, a, b = ctx.saved_tensors
        of_inputs = inputs * ((a * relevance) @ weight)
        if b is not None:
            of_inputs.addcmul_(input_size, (b * relevance) @ weight_size)
        if not ctx.needs_input_grad[2]:
            return of_inputs, None, None, None
        return of_inputs, None, _part(bias, a, b, relevance).flatten(0, -2).sum(0), None


class _Add(Function):
    """v = u_1 + u_2."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, rule: Rule) -> Tensor:
        total = first + second
        ctx.save_for_backward(first, second, *rule.shares(total, first.abs() + second.abs()))
        return total

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> tuple[Tensor, Tensor, None]:
        first, second, a, b = ctx.saved_tensors
        return _part(first, a, b, relevance), _part(second, a, b, relevance), None


class _Passed(Function):
    """A value whose relevance is that of the tensor it was made from."""

    @staticmethod
    def forward(ctx: Any, source: Tensor, value: Tensor) -> Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> tuple[Tensor, None]:
        return relevance, None


class _Meter(Function):
    """The identity, which reports the relevance that passes."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, gauge: Tensor) -> Tensor:
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> tuple[Tensor, Tensor]:
        return relevance, relevance.sum((-2, -1))


def _passed(source: Tensor, value: Tensor) -> Tensor:
    result: Tensor = _Passed.apply(source, value.detach())  # type: ignore[no-untyped-call]
    return result


def _part(contribution: Tensor, a: Tensor, b: Tensor | None, relevance: Tensor) -> Tensor:
    """Return what one contribution to each unit gets of the unit's relevance."""
    share = a * contribution if b is None else a * contribution + b * contribution.abs()
    return share * relevance
