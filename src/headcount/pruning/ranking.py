"""Which heads go next: the lowest scores, over all heads or with the same share of each attention type; pure."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Head, Heads, count, flat, total

log = logging.getLogger(__name__)

Scores = Mapping[str, Sequence[npt.NDArray[np.float64]]]
"""Attention type -> per layer one score for each kept head, in the order of `Heads`; a higher score is kept."""


def lowest(scores: Scores, kept: Heads, *, remove: int, ranking: Literal["global", "per_type"]) -> list[Head]:
    """Return the `remove` heads of the lowest score, lowest first.

    There is no minimum per layer or type, as in behnke2020. Of equal scores the first in the order of types,
    layers and ids goes first.

    Args:
        scores: aligned with `kept`.
        kept: heads that the model has.
        remove: heads of all attention types together.
        ranking: `global` ranks all heads together; `per_type` removes the same share of each attention type's heads,
            rounded by largest remainder.

    Raises:
        UserError: more heads are to go than there are, or a score is missing or not finite.

    """
    if not 0 <= remove <= total(kept):
        raise UserError(f"{remove} heads cannot be removed from {total(kept)}; allowed: 0 to {total(kept)}")
    ranked = sorted(_by_head(scores, kept), key=lambda entry: entry[0])  # stable: equal scores stay in order
    if ranking == "global":
        return [head for _, head in ranked[:remove]]
    quota = shares(count(kept), remove)
    chosen: list[Head] = []
    for _, head in ranked:
        if quota[head[0]] > 0:
            quota[head[0]] -= 1
            chosen.append(head)
    return chosen


def shares(counts: Mapping[str, int], remove: int) -> dict[str, int]:
    """Divide `remove` among the attention types in proportion to `counts`, by largest remainder.

    Of equal remainders the first type gets the head. No type gives more heads than it has.
    """
    everything = max(sum(counts.values()), 1)
    quota = {kind: counts[kind] * remove // everything for kind in ATTENTION_TYPES}
    by_remainder = sorted(ATTENTION_TYPES, key=lambda kind: -(counts[kind] * remove % everything))
    for kind in by_remainder[: remove - sum(quota.values())]:
        quota[kind] += 1
    return quota


def warn_of_empty_types(kept: Heads) -> None:
    """Say loudly that an attention type has lost all its heads, which no method here forbids."""
    for kind, heads in count(kept).items():
        if not heads:
            consequence = "; the decoder no longer sees the source" if kind == "decoder_cross" else ""
            log.warning("no %s head is left%s", kind, consequence)


def _by_head(scores: Scores, kept: Heads) -> list[tuple[float, Head]]:
    """Pair every kept head with its score, in the order of `flat`."""
    for kind in ATTENTION_TYPES:
        expected = [(len(ids),) for ids in kept[kind]]
        found = [np.shape(layer) for layer in scores[kind]]
        if found != expected:
            raise UserError(f"{kind}: scores of shapes {found} do not belong to heads of shapes {expected}")
    values = [float(score) for kind in ATTENTION_TYPES for layer in scores[kind] for score in layer]
    paired = list(zip(values, flat(kept), strict=True))
    for value, (kind, layer, head) in paired:
        if not np.isfinite(value):
            raise UserError(f"{kind} layer {layer} head {head}: score {value} is not finite; nothing was ranked")
    return paired
