"""Hard-Concrete gates on heads (Louizos et al. 2018; Voita et al. 2019, section 6.1) and fixed masks.

A gate is 0 or 1 with positive probability and differentiable in between. Symbols: log_alpha is the location of the
Concrete distribution, temperature its τ, and (low, high) = (γ, ζ) with low < 0 and high > 1 the interval to which it is
stretched before it is clipped to [0, 1]. The functions work element by element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from headcount.model.chance import common_noise

MARGIN = 1e-6
"""Uniform noise stays this far from 0 and 1, whose logits are infinite."""

SETTLED = 0.95
"""A gate whose P(gate = 0) or P(gate = 1) is larger has settled."""

TestRule = Literal["binary", "soft"]
"""How a gate is read at test time: by the paper's rule or by that of the authors' code."""


def sample(log_alpha: Tensor, uniform: Tensor, temperature: float, low: float, high: float) -> Tensor:
    """Turn uniform noise in (0, 1) into gates in [0, 1]."""
    concrete = ((uniform.logit() + log_alpha) / temperature).sigmoid()
    return (concrete * (high - low) + low).clamp(0, 1)


def expected_open(log_alpha: Tensor, temperature: float, low: float, high: float) -> Tensor:
    """P(gate != 0), the differentiable count of open gates that the L0 penalty sums."""
    return (log_alpha - temperature * math.log(-low / high)).sigmoid()


def probability_closed(log_alpha: Tensor, temperature: float, low: float, high: float) -> Tensor:
    """P(gate = 0)."""
    return (temperature * math.log(-low / high) - log_alpha).sigmoid()


def probability_one(log_alpha: Tensor, temperature: float, low: float, high: float) -> Tensor:
    """P(gate = 1)."""
    return (log_alpha - temperature * math.log((1 - low) / (high - 1))).sigmoid()


def binary(log_alpha: Tensor) -> Tensor:
    """Return the paper's gate at test time (footnote 7): open where P(1) > P(0), for low + high = 1 log_alpha > 0."""
    return (log_alpha > 0).to(log_alpha.dtype)


def soft(log_alpha: Tensor, low: float, high: float) -> Tensor:
    """Return the gate at test time of the authors' code: no noise, no temperature, possibly fractional."""
    return (log_alpha.sigmoid() * (high - low) + low).clamp(0, 1)


class HardConcreteGate(nn.Module):
    """One trainable gate for each head: sampled once per batch in training, without noise in evaluation."""

    def __init__(
        self,
        heads: int,
        *,
        initial_log_alpha: float,
        temperature: float,
        low: float,
        high: float,
        at_test: TestRule = "binary",
    ) -> None:
        super().__init__()
        self.temperature, self.low, self.high = temperature, low, high
        self.at_test = at_test
        self.log_alpha = nn.Parameter(torch.full((heads,), float(initial_log_alpha)))

    def forward(self) -> Tensor:
        """Return the factor of each head, [head]."""
        if not self.training:
            return self.factors()
        uniform = common_noise(self.log_alpha).clamp(MARGIN, 1 - MARGIN)
        return sample(self.log_alpha, uniform, self.temperature, self.low, self.high)

    @property
    def threshold(self) -> float:
        """log_alpha above which the factor at test time is not 0."""
        return 0.0 if self.at_test == "binary" else math.log(-self.low / self.high)

    def factors(self) -> Tensor:
        """Return the factor of each head at test time, [head]: 0 or 1 by the binary rule, fractions by the soft one."""
        return binary(self.log_alpha) if self.at_test == "binary" else soft(self.log_alpha, self.low, self.high)

    def expected_open(self) -> Tensor:
        """P(gate != 0) of each head, [head]."""
        return expected_open(self.log_alpha, self.temperature, self.low, self.high)

    def settled(self) -> Tensor:
        """Say of each head whether noise hardly moves its gate any more, [head] of booleans."""
        law = (self.log_alpha, self.temperature, self.low, self.high)
        return torch.maximum(probability_closed(*law), probability_one(*law)) > SETTLED


class FixedGate(nn.Module):
    """Factors that never change: 0 masks a head, 1 leaves it alone."""

    factors: Tensor

    def __init__(self, factors: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("factors", torch.tensor(factors, dtype=torch.float32), persistent=False)

    @classmethod
    def keeping(cls, kept: Iterable[int], existing: Sequence[int]) -> FixedGate:
        """Mask every existing head but the `kept` ones; both are original head ids."""
        ids = set(kept)
        return cls([float(head in ids) for head in existing])

    def forward(self) -> Tensor:
        """Return the factor of each head, [head]."""
        return self.factors
