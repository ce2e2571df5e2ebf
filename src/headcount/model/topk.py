"""Exactly K heads of the whole model: masks that train which ones, and the gates that read them (Li et al. 2021).

Symbols: w is the importance of a head, G its Gumbel noise, r = w + G its score, t the temperature. The K largest scores
are K heads drawn without replacement; the relaxed top-K makes this draw differentiable and is exact for t -> 0.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from headcount.model.chance import common_noise

Estimator = Literal["gumbel", "straight_through"]
"""What training multiplies a head by: its share of a relaxed draw, or 0 or 1 with a gradient all the same."""

TINY = torch.finfo(torch.float64).tiny
"""Uniform noise stays above it, since its logarithm is needed."""

MEMORY = 0.95
"""Share of the mean mask that stays with each batch, so that it covers about the last 20 masks."""


def gumbel(uniform: Tensor) -> Tensor:
    """Turn uniform noise in [0, 1) into Gumbel noise, element by element."""
    return -(-uniform.clamp(min=TINY).log()).log()


def top_k(scores: Tensor, k: int) -> Tensor:
    """Return 1 for the k largest scores and 0 for the others, [head]; of equal ones the first are taken."""
    chosen = scores.argsort(descending=True, stable=True)[:k]
    return torch.zeros_like(scores).index_fill(0, chosen, 1.0)


def relaxed_top_k(scores: Tensor, k: int, temperature: float) -> Tensor:
    """Draw k times softly: p = softmax(r / t), the mask gets p, and r <- r + log(1 - p) for the draws that follow.

    The logarithm of 1 - p is that of the other heads' probabilities together, so that it is finite and exact where p
    rounds to 1.

    Args:
        scores: r, [head]; float64 for temperatures below 1e-3.
        k: draws, at most as many as there are heads.
        temperature: t > 0.

    Returns:
        Mask [head] of sum k, for t -> 0 that of `top_k`. Heads whose scores are close are drawn again, the more so the
        larger t is, and then have entries above 1 at the cost of lower scores.

    """
    not_itself = scores.new_zeros(len(scores), len(scores)).fill_diagonal_(-torch.inf)  # [head, head]
    draws = []
    for _ in range(k):
        log_p = (scores / temperature).log_softmax(0)  # [head]
        draws.append(log_p)
        if len(draws) < k:
            scores = scores + (log_p + not_itself).logsumexp(1)  # log(1 - p)
    return torch.stack(draws).exp().sum(0)


def straight_through(scores: Tensor, k: int) -> Tensor:
    """Return the mask of `top_k`; the scores get the mask's gradient less its mean, as if the step were not there.

    Only differences of scores decide. Nearly every head lowers the loss, so that with the mean all scores would rise
    alike and Adam's steps would hide what sets them apart. The authors subtract nothing, and draw no noise here.
    """
    centred = scores - scores.mean()
    return top_k(scores.detach(), k) + (centred - centred.detach())


class SubsetMask(nn.Module):
    """One mask over all heads of a model: a new sample for each batch in training, the K largest w in evaluation.

    The relaxed mask is clipped to [0, 1], since a head that stays has the factor 1. Near ties lengthen its gradient by
    1/t and more (measured up to 2e5), for which a clip of the whole model's gradient would stop the weights; so the
    scores get a gradient that is no longer than that of the mask.

    Args:
        heads: of the model.
        keep: K.
        estimator: see `Estimator`; noise is drawn for both.

    Attributes:
        importance: w, [head]; equal at the start.
        recent: mean of the masks of the last batches, up to a factor, [head].
        temperature: t of the samples to come.

    """

    recent: Tensor

    def __init__(self, heads: int, *, keep: int, estimator: Estimator) -> None:
        super().__init__()
        self._keep = keep
        self._estimator = estimator
        self.temperature = 1.0
        self.importance = nn.Parameter(torch.zeros(heads))
        self.register_buffer("recent", torch.zeros(heads))
        self._sample: Tensor | None = None
        self._read: set[int] = set()

    def read(self, first: int, heads: int) -> Tensor:
        """Return the factors of `heads` heads from `first` on, [head].

        A sample lasts until a gate asks for it again, which is for one pass of a batch through the model.
        """
        if not self.training:
            return self.chosen()[first : first + heads]
        if self._sample is None or first in self._read:
            self._sample, self._read = self.sample(), set()
        self._read.add(first)
        return self._sample[first : first + heads]

    def sample(self) -> Tensor:
        """Draw a mask, [head], and count it among the recent ones."""
        importance = self.importance.double()
        scores = importance + gumbel(common_noise(importance))
        if self._estimator == "straight_through":
            mask = straight_through(scores, self._keep)
        else:
            mask = relaxed_top_k(scores, self._keep, self.temperature).clamp(max=1)
            if mask.requires_grad:
                _limit_gradient(scores, by=mask)
        self.recent.lerp_(mask.detach().to(self.recent.dtype), 1 - MEMORY)
        return mask.to(self.importance.dtype)

    @torch.no_grad()
    def chosen(self) -> Tensor:
        """Return 1 for the K heads that stay, 0 for the others, [head]."""
        return top_k(self.importance, self._keep)

    def mass(self) -> Tensor:
        """Return which share of the recent masks was on the K heads that stay; 1: training saw them and no others."""
        return (self.recent * self.chosen()).sum() / self.recent.sum()


class SubsetGate(nn.Module):
    """The part of a mask that belongs to one attention."""

    _mask: SubsetMask

    def __init__(self, mask: SubsetMask, first: int, heads: int) -> None:
        super().__init__()
        object.__setattr__(self, "_mask", mask)  # the model's module, not one of each gate
        self._first, self._heads = first, heads

    def forward(self) -> Tensor:
        """Return the factor of each head, [head]."""
        return self._mask.read(self._first, self._heads)


def _limit_gradient(scores: Tensor, *, by: Tensor) -> None:
    """Shorten the gradient of `scores` to the length of the gradient of `by`, which depends on them."""
    lengths: list[Tensor] = []

    def measure(gradient: Tensor) -> None:
        lengths.append(gradient.norm())

    def shorten(gradient: Tensor) -> Tensor:
        factor: Tensor = (lengths.pop() / gradient.norm().clamp(min=TINY)).clamp(max=1)
        return gradient * factor

    by.register_hook(measure)  # type: ignore[no-untyped-call]
    scores.register_hook(shorten)  # type: ignore[no-untyped-call]
