"""Physical removal of heads, and its inverse, on any mapping from the model's parameter names to tensors.

The same functions slice weights and whatever is shaped like them (optimiser moments, averages). Head ids always mean
the original head, so removing in several steps equals removing at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Heads, full
from headcount.model.shape import ATTENTION_NAMES, ModelConfig

State = dict[str, Tensor]
"""Parameter name -> a tensor of that parameter's shape; parameters may be absent."""

HEAD_DIMENSIONS = {
    "query.weight": 0,
    "query.bias": 0,
    "key.weight": 0,
    "key.bias": 0,
    "value.weight": 0,
    "value.bias": 0,
    "output.weight": 1,
}
"""Parameters of an attention whose dimension so-and-so lists the channels of head after head."""


def remove_heads(state: Mapping[str, Tensor], config: ModelConfig, kept: Heads) -> tuple[State, ModelConfig]:
    """Keep only the heads of the table `kept`; gates are dropped, the arguments are left alone.

    Raises:
        UserError: `kept` does not fit the model, or names a head that was removed before.

    """
    smaller = replace(config, kept=kept)
    for kind in ATTENTION_TYPES:
        for layer, ids in enumerate(smaller.kept[kind]):
            gone = sorted(set(ids) - set(config.kept[kind][layer]))
            if gone:
                raise UserError(
                    f"{kind} layer {layer}: heads {gone} were removed before; left: {config.kept[kind][layer]}"
                )

    def select(tensor: Tensor, dimension: int, before: Sequence[int], after: Sequence[int], channels: int) -> Tensor:
        return tensor.index_select(dimension, _channels(before, after, channels).to(tensor.device))

    return _change(state, config, smaller, select), smaller


def scale_heads(state: Mapping[str, Tensor], config: ModelConfig, factors: Mapping[tuple[str, int], Tensor]) -> State:
    """Multiply the heads of some attentions by constant factors, folded into the columns of their output projections.

    Args:
        state: weights; the arguments are left alone.
        config: of the model that has them.
        factors: attention type and layer -> a factor of each head that the layer has, [head].

    """
    scaled = dict(state)
    for (kind, layer), factor in factors.items():
        name = f"{ATTENTION_NAMES[kind].format(layer)}.output.weight"
        scaled[name] = state[name] * factor.repeat_interleave(config.head_width)  # [width, head * channel]
    return scaled


def expand_heads(state: Mapping[str, Tensor], config: ModelConfig) -> tuple[State, ModelConfig]:
    """Put zeros where heads were removed: the full-size model in which those heads are masked."""
    larger = replace(config, kept=full(config.layers_encoder, config.layers_decoder, config.heads))

    def spread(tensor: Tensor, dimension: int, before: Sequence[int], after: Sequence[int], channels: int) -> Tensor:
        shape = list(tensor.shape)
        shape[dimension] = len(after) * channels
        return tensor.new_zeros(shape).index_copy_(
            dimension, _channels(after, before, channels).to(tensor.device), tensor
        )

    return _change(state, config, larger, spread), larger


def _change(
    state: Mapping[str, Tensor],
    before: ModelConfig,
    after: ModelConfig,
    change: Callable[[Tensor, int, Sequence[int], Sequence[int], int], Tensor],
) -> State:
    """Apply `change` to every tensor that has a share for each head, copy the others, leave out gates."""
    changed = dict(state)
    for kind in ATTENTION_TYPES:
        for layer, (old, new) in enumerate(zip(before.kept[kind], after.kept[kind], strict=True)):
            prefix = f"{ATTENTION_NAMES[kind].format(layer)}."
            for name in [name for name in state if name.startswith(prefix)]:
                part = name.removeprefix(prefix)
                if part.startswith("gate."):
                    del changed[name]
                elif part.startswith("normaliser.") and state[name].ndim:  # one value for each head, unless shared
                    changed[name] = change(state[name], 0, old, new, 1)
                elif part in HEAD_DIMENSIONS:
                    changed[name] = change(state[name], HEAD_DIMENSIONS[part], old, new, before.head_width)
    return changed


def _channels(existing: Sequence[int], wanted: Sequence[int], channels: int) -> Tensor:
    """Return the indices, among the channels of the existing heads, of the wanted heads' channels."""
    positions = torch.tensor([existing.index(head) for head in wanted], dtype=torch.int64)  # [wanted head]
    return (positions[:, None] * channels + torch.arange(channels)).flatten()
