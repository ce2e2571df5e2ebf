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


def strongest(weights: Tensor, eligible: Tensor) -> Tensor:
    """Return the eligible key of the largest weight, [batch, head, query]; -1 where no such key has any weight.

    Args:
        weights: [batch, head, query, key].
        eligible: [batch, query, key].

    """
    if not weights.shape[-1]:
        return weights.new_empty(weights.shape[:3], dtype=torch.int64)
    largest, key = (weights * eligible[:, None]).max(-1)
    return key.masked_fill(largest <= 0, -1)


def word_attention(weights: Tensor, members: Tensor) -> Tensor:
    """Return the attention between words: the sum over the pieces of the key, the mean over those of the query.

    Args:
        weights: [batch, head, query, key] of a self-attention.
        members: [batch, key, word].

    Returns:
        [batch, head, query word, key word]; zeros for a word without pieces.

    """
    of_word = members.to(weights.dtype)[:, None]  # [batch, 1, piece, word]
    pieces = of_word.sum(2).clamp(min=1)  # [batch, 1, word]
    return of_word.transpose(2, 3) @ weights @ of_word / pieces[..., None]


def tally(found: Tensor, expected: Tensor, eligible: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Count the queries whose strongest key is a target.

    Args:
        found: [batch, head, query] from `strongest`.
        expected: [link, batch, query, key].
        eligible: [batch, query, key].

    Returns:
        Hits [link, head]; cases [link], the queries with a target; expected hits [link] of a head that looks at any
        eligible key alike.

    """
    if not expected.shape[-1]:
        return (
            expected.new_zeros((len(expected), found.shape[1]), dtype=torch.int64),
            expected.new_zeros(len(expected), dtype=torch.int64),
            expected.new_zeros(len(expected), dtype=torch.float64),
        )
    key = found.clamp(min=0).transpose(1, 2)  # [batch, query, head]
    on_target = expected.gather(3, key.expand(len(expected), *key.shape))  # [link, batch, query, head]
    hits = on_target & (found >= 0).transpose(1, 2)
    possible = eligible.sum(-1).clamp(min=1)  # [batch, query]
    chance = expected.sum(-1) / possible.double()  # [link, batch, query]
    return hits.sum((1, 2)), expected.any(-1).sum((1, 2)), chance.sum((1, 2))


def on_targets(weights: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Sum the weight that queries with a target put on their targets.

    Args:
        weights: [batch, head, query, key].
        expected: [measure, batch, query, key].

    Returns:
        Sums [measure, head] and the number of such queries [measure].

    """
    sums = torch.einsum("bhqk,mbqk->mh", weights, expected.to(weights.dtype))
    return sums, expected.any(-1).sum((1, 2))


def merging(weights: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
    """Sum over the words how far a head binds their pieces together (correia2019 figure 8).

    A word of several pieces scores the largest weight that one of them gives to the others; a word of one piece the
    weight of the piece on itself.

    Args:
        weights: [batch, head, query, key] of a self-attention.
        word: [batch, key] numbers of the words, below 0 where there is none.

    Returns:
        Sum [1, head] and the number of words [1].

    """
    known = word >= 0
    together = (word[:, :, None] == word[:, None]) & known[:, :, None]  # [batch, query, key]
    own = torch.eye(word.shape[1], dtype=torch.bool, device=word.device)
    alone = together.sum(-1) == 1  # [batch, query]
    counted = torch.where(alone[..., None], own, together & ~own) & known[..., None]  # [batch, query, key]
    mass = (weights * counted[:, None]).sum(-1)  # [batch, head, query]
    words = int(word.max()) + 1 if word.numel() else 0
    best = mass.new_zeros((*mass.shape[:2], max(words, 1)))  # [batch, head, word]
    best.scatter_reduce_(2, word.clamp(min=0)[:, None].expand_as(mass), mass, "amax")
    present = (word[:, :, None] == torch.arange(max(words, 1), device=word.device)).any(1)  # [batch, word]
    return best.sum((0, 2))[None], present.sum()[None]


def _entropy(weights: Tensor) -> Tensor:
    terms: Tensor = torch.special.entr(weights)  # -p log p, 0 at p = 0
    return terms.sum(-1)
