"""What incremental decoding remembers: the source of each sentence and the past of its hypotheses.

The hypotheses of a sentence descend from each other. What was computed for one of them stays where it was written, in
a slot of its sentence; when the search goes on with other hypotheses, only the table of ancestors changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headcount.model.attention import KeysValues, Mask

LEAST_ROOM = 8
"""Slots that are added at least. Much unused room would lie between the used slots and make reading them slow."""


class Past:
    """Keys and values of one layer's self-attention for all hypotheses so far."""

    def __init__(self) -> None:
        self.slots = 0  # in use
        self.stored: KeysValues | None = None  # [sentence, head, slot, channel], unused slots at the end

    def append(self, newest: KeysValues) -> KeysValues:
        """Give each hypothesis a slot for its newest position, [sentence, head, hypothesis, channel]; return all."""
        first, self.slots = self.slots, self.slots + newest.keys.shape[2]
        stored = self.stored or KeysValues(*(part[:, :, :0] for part in newest))
        if self.slots > stored.keys.shape[2]:
            room = max(LEAST_ROOM, self.slots // 4)
            stored = KeysValues(*(_longer(part, first, self.slots + room) for part in stored))
        for part, new in zip(stored, newest, strict=True):
            part[:, :, first : self.slots] = new
        self.stored = stored
        return KeysValues(*(part[:, :, : self.slots] for part in stored))

    def select(self, sentences: Tensor) -> None:
        """Go on with these sentences, [new sentence] -> old index."""
        if self.stored is not None:
            self.stored = KeysValues(*(part.index_select(0, sentences) for part in self.stored))


def _longer(part: Tensor, used: int, slots: int) -> Tensor:
    """Return room for so many slots with a copy of those in use; the others hold anything."""
    sentences, heads, _, channels = part.shape
    longer = part.new_empty(sentences, heads, slots, channels)
    longer[:, :, :used] = part[:, :, :used]
    return longer


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
        self.ancestors = source_mask.new_zeros(len(source_mask), 1, 0)
        """[sentence, hypothesis, slot], True = the slot is part of the hypothesis's past."""
        self.length = 0

    def masks(self, hypotheses: int) -> tuple[Mask, Mask]:
        """Give each hypothesis of each sentence a slot; return its masks of self- and cross-attention."""
        newest = torch.eye(hypotheses, dtype=torch.bool, device=self.source_mask.device)
        self.ancestors = torch.cat([self.ancestors, newest.expand(len(self.ancestors), -1, -1)], dim=2)
        real = self.source_mask.new_ones(len(self.ancestors), hypotheses)
        if hypotheses == 1:
            own = Mask.real_keys(real, self.ancestors[:, 0])
        else:
            own = Mask(real, self.ancestors.any(1), self.ancestors[:, None], causal=False)
        return own, Mask.real_keys(real, self.source_mask)

    def select(self, parents: Tensor, sentences: Tensor | None) -> None:
        """Go on with these hypotheses.

        Args:
            parents: [new sentence, new hypothesis] -> index of an old hypothesis of the same sentence.
            sentences: [new sentence] -> old index; None keeps every sentence.

        """
        if sentences is not None:
            for past in self.past:
                past.select(sentences)
            self.ancestors = self.ancestors.index_select(0, sentences)
            self.source_mask = self.source_mask.index_select(0, sentences)
            self.memory = [KeysValues(*(part.index_select(0, sentences) for part in layer)) for layer in self.memory]
        self.ancestors = self.ancestors.gather(1, parents[:, :, None].expand(-1, -1, self.ancestors.shape[2]))
