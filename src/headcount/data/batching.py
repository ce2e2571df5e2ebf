"""Batches of tensors whose order is a pure function of seed and position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray

from headcount.data.encoded import Encoded, Ids, Offsets
from headcount.data.packing import Indices, pack
from headcount.errors import UserError
from headcount.vocabulary import BOS, PAD


@dataclass(frozen=True)
class Batch:
    """Padded sentence pairs; `target_input` is BOS and the target without EOS, `target_output` the target with EOS."""

    source: torch.Tensor  # [batch, source] int64
    target_input: torch.Tensor  # [batch, target] int64
    target_output: torch.Tensor  # [batch, target] int64
    sentences: Indices  # [batch] numbers of the pairs in the corpus

    @cached_property
    def target_tokens(self) -> int:
        """Number of target pieces to predict, padding excluded."""
        return int((self.target_output != PAD).sum())

    def share(self, rank: int, ranks: int) -> Batch:
        """Return the part of one of several ranks: every `ranks`-th pair, which are of all lengths that there are.

        A rank for which no pair is left gets one whose target is all padding: it adds nothing to a sum over targets,
        and the rank does what all the others do.
        """
        mine = slice(rank, None, ranks)
        if rank < len(self.sentences):
            return Batch(self.source[mine], self.target_input[mine], self.target_output[mine], self.sentences[mine])
        nothing = torch.full_like(self.target_output[:1], PAD)  # [1, target]
        return Batch(self.source[:1], nothing, nothing, self.sentences[:0])

    def aligned(self, multiple: int) -> Batch:
        """Return the batch with both sides padded to multiples of a number of positions."""
        source, target_input, target_output = (
            F.pad(part, (0, -part.shape[1] % multiple), value=PAD)
            for part in (self.source, self.target_input, self.target_output)
        )
        return Batch(source, target_input, target_output, self.sentences)

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch on another device."""
        moved = replace(
            self,
            source=self.source.to(device),
            target_input=self.target_input.to(device),
            target_output=self.target_output.to(device),
        )
        moved.__dict__["target_tokens"] = self.target_tokens  # counting on a GPU would wait for it
        return moved


def make_batch(corpus: Encoded, ids: Sequence[int] | Indices) -> Batch:
    """Pad the pairs with the given numbers into one batch, in that order."""
    sentences = np.asarray(ids, dtype=np.int64)
    source = _pad(corpus.source_tokens, corpus.source_offsets, sentences)  # [batch, source]
    output = _pad(corpus.target_tokens, corpus.target_offsets, sentences)  # [batch, target]
    shifted = np.full_like(output, BOS)  # [batch, target]
    shifted[:, 1:] = np.where(output[:, 1:] == PAD, PAD, output[:, :-1])
    return Batch(torch.from_numpy(source), torch.from_numpy(shifted), torch.from_numpy(output), sentences)


def _pad(tokens: Ids, offsets: Offsets, sentences: Indices) -> NDArray[np.int64]:
    starts, lengths = offsets[sentences], offsets[sentences + 1] - offsets[sentences]  # [batch]
    column = np.arange(lengths.max())  # [length]
    cells = np.minimum(starts[:, None] + column, len(tokens) - 1)  # [batch, length]
    return np.where(column < lengths[:, None], tokens[cells], PAD).astype(np.int64)


class TokenBatches:
    """Training batches under a token budget, resumable from their position alone.

    Args:
        corpus: the encoded training pairs.
        tokens_per_batch: sentences x longest side of a batch, padding included.
        seed: with the epoch it determines the order completely.

    """

    def __init__(self, corpus: Encoded, *, tokens_per_batch: int, seed: int) -> None:
        if not len(corpus):
            raise UserError("the training corpus has no sentence pairs; run `headcount prepare` again")
        self.corpus = corpus
        self.tokens_per_batch = tokens_per_batch
        self.seed = seed
        self._cached: tuple[int, list[Indices]] = (0, self.epoch(0))

    @property
    def batches_per_epoch(self) -> int:
        """Number of batches, the same in every epoch."""
        return len(self._cached[1])

    def epoch(self, epoch: int) -> list[Indices]:
        """Return the sentence numbers of every batch of an epoch; each sentence occurs exactly once."""
        rng = np.random.default_rng([self.seed % 2**64, epoch])
        return pack(self.corpus.source_lengths, self.corpus.target_lengths, self.tokens_per_batch, rng)

    def at(self, position: int) -> Batch:
        """Return the batch at `position`, counted from 0 over all epochs."""
        epoch, index = divmod(position, self.batches_per_epoch)
        if self._cached[0] != epoch:
            self._cached = (epoch, self.epoch(epoch))
        return make_batch(self.corpus, self._cached[1][index])


def sorted_batches(corpus: Encoded, *, sentences_per_batch: int) -> list[Indices]:
    """Return the numbers of all sentences, sorted by length and cut into batches; for evaluation."""
    order = np.lexsort((corpus.target_lengths, corpus.source_lengths))
    return [order[start : start + sentences_per_batch] for start in range(0, len(order), sentences_per_batch)]
