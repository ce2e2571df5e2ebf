"""A clean corpus cut into train, dev and test so that no sentence is in two parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.data.text import Pairs
from headcount.data.words import normalise
from headcount.errors import UserError

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data

PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class Split:
    """Indices of each part and, by reason, of the pairs that are in none.

    `components` counts the groups that stay together (documents, or pairs that share a side), `largest` is the
    biggest one.
    """

    parts: dict[str, list[int]]
    unused: dict[str, list[int]]
    components: int
    largest: int


def split(pairs: Pairs, settings: Data) -> Split:
    """Cut off test and dev so that no normalised source or target occurs in two parts.

    The order of the file plays no role: everything is chosen and ordered by a hash of `data.split_seed` and the text,
    so that the first sentences of test and dev are a random sample of them. Of the rest `data.pairs_limit` pairs are
    kept to train on.

    Raises:
        UserError: there are too few pairs; a part is never made shorter than asked.

    """
    asked = {"test": settings.test_sentences, "dev": settings.dev_sentences}
    if len(pairs) <= sum(asked.values()):
        raise UserError(
            f"data.test_sentences: {asked['test']} and data.dev_sentences: {asked['dev']} leave nothing to train on: "
            f"the cleaned corpus has {len(pairs):,} pairs{_because(pairs)}"
        )
    cut = _by_component if pairs.documents is None else _by_document
    parts, groups, unused = cut(pairs, asked, settings.split_seed)
    if not parts["train"]:
        raise UserError(
            "data: every pair shares a sentence with dev or test and none is left to train on; give more text"
        )
    if 0 < (limit := settings.pairs_limit) < len(parts["train"]):
        ordered = sorted(parts["train"], key=lambda i: _hash(settings.split_seed, "limit", *_texts(pairs, i)))
        parts["train"], beyond = sorted(ordered[:limit]), sorted(ordered[limit:])
        unused[f"beyond {limit} training pairs (data.pairs_limit)"] = beyond
    return Split({part: parts[part] for part in PARTS}, unused, len(groups), max(map(len, groups)))


_Cut = tuple[dict[str, list[int]], list[list[int]], dict[str, list[int]]]
"""Parts, groups, unused pairs by reason."""


def _by_component(pairs: Pairs, asked: dict[str, int], seed: int) -> _Cut:
    """Keep pairs that share a side, directly or through others, together; small components are cut off first."""
    groups = _components([normalise(text) for text in pairs.sources], [normalise(text) for text in pairs.targets])
    keyed = [(len(group), min(_hash(seed, *_texts(pairs, i)) for i in group), group) for group in groups]
    keyed.sort()
    parts: dict[str, list[int]] = {}
    taken: set[int] = set()
    for part, wanted in asked.items():
        chosen: list[int] = []
        for size, _, group in keyed:
            if size > wanted - len(chosen):
                break
            if group[0] not in taken:
                chosen += group
                taken.update(group)
        if len(chosen) < wanted:
            raise _too_few(part, wanted, len(chosen), len(pairs))
        parts[part] = chosen
    parts["train"] = [index for index in range(len(pairs)) if index not in taken]
    return parts, groups, {}


def _by_document(pairs: Pairs, asked: dict[str, int], seed: int) -> _Cut:
    """Keep documents whole: what a later part shares with test or dev, or is beyond their size, is left out.

    Documents repeat each other's sentences so much that pairs cannot stay together through them as well.
    """
    assert pairs.documents is not None
    documents: dict[str, list[int]] = {}
    for index, name in enumerate(pairs.documents):
        documents.setdefault(name, []).append(index)
    waiting = sorted(documents, key=lambda name: _hash(seed, name), reverse=True)
    sides = [_normalised(pairs, index) for index in range(len(pairs))]
    closed: set[tuple[str, str]] = set()
    parts: dict[str, list[int]] = {}
    shared: list[int] = []
    surplus: list[int] = []
    for part, wanted in asked.items():
        chosen: list[int] = []
        while len(chosen) < wanted and waiting:
            free, met = _apart(documents[waiting.pop()], sides, closed)
            chosen, surplus = chosen + free[: wanted - len(chosen)], surplus + free[wanted - len(chosen) :]
            shared += met
        if len(chosen) < wanted:
            raise _too_few(part, wanted, len(chosen), len(pairs))
        parts[part] = sorted(chosen, key=lambda index: _hash(seed, *_texts(pairs, index)))
        closed.update(side for index in chosen for side in sides[index])
    parts["train"], met = _apart(sorted(i for name in waiting for i in documents[name]), sides, closed)
    unused = {
        "a sentence of dev or test in another document": sorted(shared + met),
        "beyond the size of dev or test, in their last document": surplus,
    }
    return parts, list(documents.values()), {reason: found for reason, found in unused.items() if found}


def _apart(
    indices: Iterable[int], sides: list[tuple[tuple[str, str], tuple[str, str]]], closed: set[tuple[str, str]]
) -> tuple[list[int], list[int]]:
    """Return the pairs without a sentence of `closed`, and the others."""
    free: list[int] = []
    met: list[int] = []
    for index in indices:
        (met if closed.intersection(sides[index]) else free).append(index)
    return free, met


def _normalised(pairs: Pairs, index: int) -> tuple[tuple[str, str], tuple[str, str]]:
    source, target = _texts(pairs, index)
    return ("source", normalise(source)), ("target", normalise(target))


def _components(sources: list[str], targets: list[str]) -> list[list[int]]:
    """Group indices connected by an equal source or an equal target; union-find with path halving."""
    parent = list(range(len(sources)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for side in (sources, targets):
        first: dict[str, int] = {}
        for index, text in enumerate(side):
            parent[root(index)] = root(first.setdefault(text, index))
    groups: dict[int, list[int]] = {}
    for index in range(len(sources)):
        groups.setdefault(root(index), []).append(index)
    return list(groups.values())


def _texts(pairs: Pairs, index: int) -> tuple[str, str]:
    return pairs.sources[index], pairs.targets[index]


def _hash(seed: int, *texts: str) -> bytes:
    return hashlib.sha256("\t".join([str(seed), *texts]).encode()).digest()


def _too_few(part: str, wanted: int, found: int, pairs: int) -> UserError:
    return UserError(
        f"data.{part}_sentences: {wanted} cannot be cut off: only {found:,} pairs of the {pairs:,} "
        f"share no sentence with the rest; ask for fewer or give more text"
    )


def _because(pairs: Pairs) -> str:
    return f"; dropped: {pairs.drops.summary()}" if pairs.drops.counts else ""
