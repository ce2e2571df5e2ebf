"""Which heads go next: the lowest scores, over all heads or with the same share of each type or layer; pure."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Head, Heads, count, flat

log = logging.getLogger(__name__)

Group = TypeVar("Group", bound=Hashable)

Ranking = Literal["global", "per_type", "per_layer"]

SHARED_ENTRIES: dict[Ranking, int] = {"global": 0, "per_type": 1, "per_layer": 2}
"""So many of its first entries (attention type, layer) a head shares with the heads that it is compared with."""

Scores = Mapping[str, Sequence[npt.NDArray[np.float64]]]
"""Attention type -> per layer one score for each kept head, in the order of `Heads`; a higher score is kept."""


def lowest(
    scores: Scores,
    kept: Heads,
    *,
    remove: int,
    ranking: Ranking,
    least_per_layer: int,
    scope: Literal["encoder", "all"],
) -> list[Head]:
    """Return the `remove` heads of the lowest score, lowest first.

    A head may go while its group, which are the heads it is compared with, and its layer both have one to give. Of
    equal scores the first in the order of types, layers and ids goes first.

    Args:
        scores: aligned with `kept`.
        kept: heads that the model has.
        remove: heads of all attention types of the scope together.
        ranking: `global` compares all heads of the scope; `per_type` removes the same share of each attention type's
            spare heads and `per_layer` of each layer's, rounded by largest remainder.
        least_per_layer: heads that stay in each attention of each layer, or all of them where there are fewer; the
            others are spare. 0 is behnke2020, whose tickets have layers without heads.
        scope: `encoder` removes heads of the encoder only.

    Raises:
        UserError: more heads are to go than can, or a score is missing or not finite.

    """
    kinds = ATTENTION_TYPES if scope == "all" else (scope,)
    spare = Counter(
        {(kind, layer): max(len(ids) - least_per_layer, 0) for kind in kinds for layer, ids in enumerate(kept[kind])}
    )
    if not 0 <= remove <= spare.total():
        existing = sum(count(kept)[kind] for kind in kinds)
        whose = f"{existing} encoder heads" if scope == "encoder" else f"{existing}"
        stay = f"; {least_per_layer} of each layer stay" if least_per_layer else ""
        raise UserError(f"{remove} heads cannot be removed from {whose}{stay}; allowed: 0 to {spare.total()}")
    entries = SHARED_ENTRIES[ranking]
    groups: Counter[tuple[str | int, ...]] = Counter()
    for place, heads in spare.items():
        groups[place[:entries]] += heads
    quota = shares(groups, remove)
    chosen: list[Head] = []
    for _, head in sorted(_by_head(scores, kept), key=lambda entry: entry[0]):  # stable: equal scores stay in order
        place, group = head[:2], head[:entries]
        if spare[place] and quota.get(group):
            spare[place] -= 1
            quota[group] -= 1
            chosen.append(head)
    return chosen


def by_layer(
    found: Mapping[tuple[str, int], npt.NDArray[np.float64]], kept: Heads
) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Arrange what was found for each attention with heads, by type and layer, as `Scores` of all layers."""
    return {
        kind: [found[kind, layer] if ids else np.empty(0) for layer, ids in enumerate(layers)]
        for kind, layers in kept.items()
    }


def shares(counts: Mapping[Group, int], remove: int) -> dict[Group, int]:
    """Divide `remove` among groups of heads in proportion to `counts`, by largest remainder.

    Of equal remainders the first group gives the head. No group gives more heads than it has.
    """
    everything = max(sum(counts.values()), 1)
    quota = {group: heads * remove // everything for group, heads in counts.items()}
    by_remainder = sorted(counts, key=lambda group: -(counts[group] * remove % everything))
    for group in by_remainder[: remove - sum(quota.values())]:
        quota[group] += 1
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
