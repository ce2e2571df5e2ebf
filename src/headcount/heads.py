"""Which heads a model keeps: original head ids per attention type and layer; free of torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headcount.errors import UserError
from headcount.registry import nearest

ATTENTION_TYPES = ("encoder", "decoder_self", "decoder_cross")

BY_ROLE = ("named", "unnamed")
"""Controls that remove heads by the roles that those of the parent have."""

Heads = dict[str, list[list[int]]]
"""Attention type -> per layer the sorted ids of the kept heads; an id always means the original head."""

Head = tuple[str, int, int]
"""Attention type, layer, original head id, counted from 0."""


def full(layers_encoder: int, layers_decoder: int, heads: int) -> Heads:
    """Return the table in which nothing is removed."""
    layers = dict(zip(ATTENTION_TYPES, (layers_encoder, layers_decoder, layers_decoder), strict=True))
    return {kind: [list(range(heads)) for _ in range(layers[kind])] for kind in ATTENTION_TYPES}


def count(kept: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, int]:
    """Count the kept heads of each attention type."""
    return {kind: sum(len(layer) for layer in kept[kind]) for kind in ATTENTION_TYPES}


def total(kept: Mapping[str, Sequence[Sequence[int]]]) -> int:
    """Count the kept heads of all attention types."""
    return sum(count(kept).values())


def flat(kept: Mapping[str, Sequence[Sequence[int]]]) -> list[Head]:
    """List the kept heads in the order of types, layers and ids."""
    return [(kind, layer, head) for kind in ATTENTION_TYPES for layer, ids in enumerate(kept[kind]) for head in ids]


def without(kept: Heads, removed: Iterable[Head], heads: int) -> Heads:
    """Return the table without the `removed` heads; one that is gone already is a no-op.

    Args:
        kept: the table before.
        removed: heads that go.
        heads: heads per attention before anything was removed, the range of valid ids.

    Raises:
        UserError: an unknown attention type, layer or head id, with the valid range.

    """
    gone = set(removed)
    for kind, layer, head in gone:
        if kind not in kept:
            allowed = ", ".join(ATTENTION_TYPES)
            raise UserError(f"attention type {kind!r} is unknown{nearest(kind, ATTENTION_TYPES)}; allowed: {allowed}")
        if not 0 <= layer < len(kept[kind]):
            raise UserError(f"{kind} layer {layer} does not exist; allowed: 0 to {len(kept[kind]) - 1}")
        if not 0 <= head < heads:
            raise UserError(f"{kind} layer {layer} head {head} does not exist; allowed: 0 to {heads - 1}")
    return {
        kind: [[h for h in ids if (kind, layer, h) not in gone] for layer, ids in enumerate(kept[kind])]
        for kind in ATTENTION_TYPES
    }
