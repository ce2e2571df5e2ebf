"""Whether removing heads equals masking them, on real sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from headcount.evaluate.replay import Decode
from headcount.model.surgery import expand_heads
from headcount.model.transformer import Transformer
from headcount.model.weights import build
from headcount.vocabulary import BOS, PAD

UNCOMPARED: dict[str, Any] = {"max_logit_difference": None, "identical_outputs": None}
"""What is told of a model that lacks no head."""


def has_gaps(model: Transformer) -> bool:
    """Tell whether a head was removed."""
    return any(len(ids) < model.config.heads for rows in model.config.kept.values() for ids in rows)


def masked_twin(model: Transformer) -> Transformer:
    """Return a model of full size that computes the same: the missing heads are there, their weights are zeros."""
    return build(*expand_heads(model.state_dict(), model.config))


def compare(
    model: Transformer,
    twin: Transformer,
    sources: Sequence[Sequence[int]],
    decode: Decode,
    sentences_per_batch: int,
) -> dict[str, Any]:
    """Return `max_logit_difference` of a model and its masked twin, and whether their `decode` gives the same."""
    outputs = decode(twin)
    return {
        "max_logit_difference": largest_logit_difference(model, twin, sources, outputs, sentences_per_batch),
        "identical_outputs": decode(model) == outputs,
    }


@torch.no_grad()
def largest_logit_difference(
    one: Transformer,
    other: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    sentences_per_batch: int,
) -> float:
    """Return the largest difference of two models' logits over all real positions of the given translations."""
    largest = 0.0
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    for start in range(0, len(order), sentences_per_batch):
        ids = order[start : start + sentences_per_batch]
        source = _padded([sources[index] for index in ids])  # [batch, source]
        target = _padded([[BOS, *targets[index]] for index in ids])  # [batch, target]
        gap = (one(source, target) - other(source, target)).abs().amax(-1)  # [batch, target]
        largest = max(largest, float(gap[target != PAD].max()))
    return largest


def _padded(sentences: Sequence[Sequence[int]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(ids) for ids in sentences], batch_first=True, padding_value=PAD)
