"""Which sentences go into one batch: length buckets under a token budget; numpy only.

Lengths are in pieces, EOS included. The budget counts sentences x the longest side of the batch, padding included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def pack(
    source_lengths: Indices, target_lengths: Indices, tokens_per_batch: int, rng: np.random.Generator
) -> list[Indices]:
    """Sort by length, ties at random, cut where the budget is full and shuffle the batches.

    The sorted lengths do not depend on `rng`, only which of the equally long sentences stands where: every epoch
    therefore has the same number of batches. A sentence longer than the budget forms its own batch.
    """
    longest = np.maximum(source_lengths, target_lengths)  # [sentence]
    order = np.lexsort((rng.random(len(longest)), source_lengths, target_lengths, longest))
    batches: list[Indices] = []
    start = 0
    for end, width in enumerate(longest[order].tolist()):  # ascending, so the last one is the longest
        if end > start and (end + 1 - start) * width > tokens_per_batch:
            batches.append(order[start:end])
            start = end
    if start < len(order):
        batches.append(order[start:])
    return [batches[index] for index in rng.permutation(len(batches))]


def useful_share(source_lengths: Indices, target_lengths: Indices, batches: Sequence[Indices]) -> float:
    """Return the share of pieces among all cells, padding included, of both sides together."""
    cells = sum(len(batch) * int(source_lengths[batch].max() + target_lengths[batch].max()) for batch in batches)
    return float(source_lengths.sum() + target_lengths.sum()) / cells
