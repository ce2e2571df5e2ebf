"""Which heads a control removes: at random as many as another method, or those with or without a named role; pure."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from headcount.errors import UserError
from headcount.heads import Head, Heads, flat

log = logging.getLogger(__name__)

WITH_ROLES = "encoder"
"""The attention type whose heads have roles (voita2019 section 5)."""


def generator(seed: int, run: str) -> np.random.Generator:
    """Return the random numbers of one run: runs of one seed draw apart from each other."""
    digest = hashlib.blake2b(f"{seed} {run}".encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest))


def as_many_at_random(existing: Heads, kept: Heads, chance: np.random.Generator) -> list[Head]:
    """Draw the heads that go if as many of each attention type are to stay as in `kept`: chance instead of choice.

    Every set of so many heads of a type is equally likely to stay, so that the number of them in a layer, or in any
    other group of heads, is hypergeometric.

    Args:
        existing: heads of the dense model.
        kept: heads that another method left, of which only the numbers matter.
        chance: random numbers.

    Raises:
        UserError: an attention type has more heads in `kept` than exist.

    """
    return _at_random(existing, kept, chance, entries=1)


def same_counts(existing: Heads, kept: Heads, chance: np.random.Generator) -> list[Head]:
    """Draw the heads that go if as many of each layer's attention are to stay as in `kept`: the decisive control.

    Every set of so many heads of a layer is equally likely to stay, the one in `kept` included. A method that does no
    better than this has found how many heads a layer needs, but not which (behnke2020, control K4).

    Args:
        existing: heads of the dense model.
        kept: heads that another method left, of which only the numbers matter.
        chance: random numbers.

    Raises:
        UserError: a layer has more heads in `kept` than exist.

    """
    return _at_random(existing, kept, chance, entries=2)


def by_role(
    existing: Heads,
    roles: Sequence[Mapping[str, Any]],
    select: Literal["unnamed", "named"],
    chance: np.random.Generator,
) -> list[Head]:
    """Draw the encoder heads that go among those that have a named role, or among those that have none.

    The number is the same for both: as many as there are of the rarer kind.

    Args:
        existing: heads of the dense model.
        roles: `heads` of its `roles.json`: attention, layer, head and roles; a head that is not listed has none.
        select: which kind goes.
        chance: random numbers, needed where there are more of this kind than of the other.

    """
    listed = {(str(row["attention"]), int(row["layer"]), int(row["head"])) for row in roles if row["roles"]}
    encoder = [head for head in flat(existing) if head[0] == WITH_ROLES]
    named = [head for head in encoder if head in listed]
    unnamed = [head for head in encoder if head not in listed]
    if not (named and unnamed):
        log.warning("no head is removed: of the encoder heads %d are named, %d unnamed", len(named), len(unnamed))
    return _drawn(named if select == "named" else unnamed, min(len(named), len(unnamed)), chance)


def _at_random(existing: Heads, kept: Heads, chance: np.random.Generator, *, entries: int) -> list[Head]:
    """Draw from each group of heads whose first `entries` (attention type, layer) are equal."""
    groups: dict[tuple[str | int, ...], list[Head]] = {}
    for head in flat(existing):
        groups.setdefault(head[:entries], []).append(head)
    wanted = Counter(head[:entries] for head in flat(kept))
    for group, number in wanted.items():
        available = len(groups.get(group, []))
        if number > available:
            whose = " layer ".join(map(str, group))
            raise UserError(f"{number} {whose} heads are to be kept, but only {available} exist")
    removed = [_drawn(heads, len(heads) - wanted[group], chance) for group, heads in groups.items()]
    return [head for heads in removed for head in heads]


def _drawn(heads: Sequence[Head], number: int, chance: np.random.Generator) -> list[Head]:
    return [heads[index] for index in sorted(chance.choice(len(heads), size=number, replace=False))]
