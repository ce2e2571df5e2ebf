"""What one attention map says about each head: sums over query rows and the counts to divide them by.

Every function is pure and returns sums, never means, so that batches add up to the exact micro-average. The maps
are those of one attention, before dropout: `weights` [batch, head, query, key], rows of real queries sum to 1, a
key that may not be attended to has weight exactly 0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

BINS = 15
"""Bins of the density histogram over (0, 1] (correia2019, figure 4)."""


def confidence(weights: Tensor, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Sum the largest weight of each row over the eligible `keys`, without renormalising the row.

    The ratio of the two results is the confidence of voita2019 section 4 where EOS is no eligible query and key,
    and of behnke2020 where it is.

    Args:
        weights: [batch, head, query, key].
        queries: [batch, query], True = the row counts.
        keys: [batch, key], True = the key may be the largest; a row without any such key does not count.

    Returns:
        The sum [head] and the number of rows that counted [].

    """
    rows = queries & keys.any(-1, keepdim=True)  # [batch, query]
    largest = weights.masked_fill(~keys[:, None, None, :], 0.0).amax(-1)  # [batch, head, query]
    return (largest * rows[:, None]).sum((0, 2)), rows.sum()


def entropy(weights: Tensor, queries: Tensor) -> Tensor:
    """Sum the entropy of each row in nats, [head]; divide by the number of `queries` [batch, query]."""
    return (_entropy(weights) * queries[:, None]).sum((0, 2))


def support(weights: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Count the weights above 0 and the weights there could be, sentence by sentence (correia2019).

    Args:
        weights: [batch, head, query, key].
        allowed: [batch, query, key], True = a real query that may attend to a real key.

    Returns:
        The support [batch, head] and its largest possible value [batch]; their ratio is the density. A softmax has
        density 1 save where a weight underflows to 0.

    """
    return ((weights > 0) & allowed[:, None]).sum((2, 3)), allowed.sum((1, 2))


def histogram(used: Tensor, possible: Tensor) -> Tensor:
    """Count sentences by density in `BINS` bins, [head, bin]; density 1 falls in the last bin.

    Args:
        used: [batch, head] and
        possible: [batch], whole numbers as `support` returns them, so that no bin edge is a matter of rounding.

    """
    bins = (used * BINS // possible[:, None]).clamp(max=BINS - 1)  # [batch, head]
    edges = torch.arange(BINS, device=bins.device)  # [bin]
    counts: Tensor = (bins[..., None] == edges).sum(0)
    return counts


def divergence(weights: Tensor, queries: Tensor) -> Tensor:
    """Sum the Jensen-Shannon divergence between the heads over the rows, [] (correia2019, figure 6).

    Divided by log(heads), the tight bound, it lies in 0 (all heads alike) to 1 (each head looks elsewhere, at one
    key). A layer of fewer than two heads has no divergence: NaN.
    """
    heads = weights.shape[1]
    if heads < 2:
        return weights.new_tensor(math.nan)
    rows = _entropy(weights.mean(1)) - _entropy(weights).mean(1)  # [batch, query]
    return (rows * queries).sum() / math.log(heads)


def _entropy(weights: Tensor) -> Tensor:
    terms: Tensor = torch.special.entr(weights)  # -p log p, 0 at p = 0
    return terms.sum(-1)
