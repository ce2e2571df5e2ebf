"""Attention maps with known answers, and labels without a corpus behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from headcount.data.spans import NO_WORD
from headcount.observe.labels import Labels
from headcount.observe.watch import AttentionMap
from headcount.vocabulary import EOS, PAD

Row = Sequence[float]


def tokens(*lengths: int, eos: bool = True) -> Tensor:
    """Return [batch, position]: sentences of that many different pieces, EOS behind them or not, padded."""
    longest = max(lengths) + eos
    rows = [[*range(10, 10 + length), *[EOS] * eos, *[PAD] * (longest - length - eos)] for length in lengths]
    return torch.tensor(rows)


def one_hot(targets: Sequence[Sequence[int]], keys: int) -> Tensor:
    """targets [head][query] -> weights [1, head, query, key]."""
    return torch.nn.functional.one_hot(torch.tensor([targets]), keys).double()


def seen(weights: Tensor, pieces: Tensor, attention: str = "encoder") -> AttentionMap:
    return AttentionMap(attention, 0, weights, pieces, pieces, np.arange(len(pieces)))


def labels(
    words: Sequence[Sequence[int]],
    pairs: Sequence[tuple[int, int, int, int]] = (),
    relations: Sequence[str] = ("nsubj",),
    baselines: Sequence[float] | None = None,
    rare: Sequence[Sequence[int]] = (),
    asks: Sequence[int] = (),
    mark: Sequence[int] = (),
) -> Labels:
    """Label sentences whose pieces belong to the given words; EOS is added to each.

    rare, asks and mark list flagged pieces by their place among all pieces, EOS included.
    """
    owner = [number for sentence in words for number in (*sentence, NO_WORD)]

    def flags(places: Sequence[int]) -> np.ndarray:
        return np.isin(np.arange(len(owner)), list(places))

    return Labels(
        starts=np.cumsum([0, *(len(sentence) + 1 for sentence in words)]),
        tree_word=np.array(owner),
        text_word=np.array(owner),
        rare=np.stack([flags(places) for places in (rare or ((), ()))]),
        asks=flags(asks),
        mark=flags(mark),
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 4),
        relations=tuple(relations),
        baselines=np.full(len(relations), np.nan) if baselines is None else np.array(baselines, dtype=np.float64),
        coverage={"sentences": len(words)},
    )
