"""What incremental decoding remembers: the source of each sentence and the past of each hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headcount.model.attention import KeysValues, Mask


class Past:
    """Keys and values of one layer's self-attention at the positions decoded so far."""

    def __init__(self) -> None:
        self.stored: KeysValues | None = None  # [hypothesis, head, position, channel]

    def append(self, newest: KeysValues) -> KeysValues:
        """Add the newest position and return all."""
        if self.stored is not None:
            newest = KeysValues(*(torch.cat(pair, dim=2) for pair in zip(self.stored, newest, strict=True)))
        self.stored = newest
        return newest

    def select(self, hypotheses: Tensor) -> None:
        """Go on with these hypotheses, [new hypothesis] -> old index."""
        if self.stored is not None:
            self.stored = KeysValues(*(part.index_select(0, hypotheses) for part in self.stored))


class Cache:
    """The state of decoding a batch of sentences.

    Args:
        memory: per decoder layer the projected source, [sentence, head, source, channel].
        source_mask: [sentence, source], True = no padding.

    """

    def __init__(self, memory: Sequence[KeysValues], source_mask: Tensor) -> None:
        self.memory = list(memory)
        self.source_mask = source_mask
        self.past = [Past() for _ in self.memory]
        self.length = 0

    def masks(self, hypotheses: int) -> tuple[Mask, Mask]:
        """Return the masks of self- and cross-attention for the newest position of each hypothesis."""
        sentences = self.source_mask.shape[0]
        real = self.source_mask.new_ones(hypotheses, self.length + 1)
        own = Mask(real[:, :1], real, allowed=None, causal=False)
        return own, Mask.real_keys(real[:, :1].reshape(sentences, -1), self.source_mask)

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        """Go on with these hypotheses and sentences, given as old indices; None keeps every sentence."""
        for past in self.past:
            past.select(hypotheses)
        if sentences is not None:
            self.source_mask = self.source_mask.index_select(0, sentences)
            self.memory = [KeysValues(*(part.index_select(0, sentences) for part in layer)) for layer in self.memory]
