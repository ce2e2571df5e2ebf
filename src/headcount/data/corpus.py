"""A raw corpus made fit for use: whole pairs cleaned, and split so that no sentence is in two parts."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headcount.data.text import Drops, Pairs, tidy
from headcount.data.words import length, normalise, words
from headcount.errors import UserError

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data

PARTS = ("train", "dev", "test")

_SHORT_WORDS = 3
"""Pairs whose lengths differ by no more than this pass at any ratio."""

_LONGEST_WORD = 100
"""Characters of a word; longer runs are addresses and encoded data, not language."""


def clean(pairs: Pairs, settings: Data) -> Pairs:
    """Tidy both sides and drop whole pairs, each counted with its reason; safe to repeat."""
    drops = Drops()
    drops.add_all(pairs.drops)
    notes: Counter[str] = Counter(pairs.notes)
    sources, targets, kept = [], [], []
    seen: set[tuple[str, str]] = set()
    for index, (row, raw_source, raw_target) in enumerate(zip(pairs.rows, pairs.sources, pairs.targets, strict=True)):
        source, target = tidy(raw_source, notes), tidy(raw_target, notes)
        fault = _fault(source, target, settings)
        if fault is None and (source, target) in seen:
            fault = ("repeated pair", "")
        if fault is not None:
            drops.add(fault[0], row, fault[1])
            continue
        seen.add((source, target))
        sources.append(source)
        targets.append(target)
        kept.append(index)
    return replace(pairs.select(kept), sources=sources, targets=targets, drops=drops, notes=notes)


def _fault(source: str, target: str, settings: Data) -> tuple[str, str] | None:
    """Return reason and detail for a pair that cannot be used."""
    if not source or not target:
        return "empty side", "source" if not source else "target"
    if not (any(map(str.isalpha, source)) and any(map(str.isalpha, target))):
        return "no letters", ""
    if source == target:
        return "source equals target", ""
    if max(map(len, words(source) + words(target))) > _LONGEST_WORD:
        return f"a word of more than {_LONGEST_WORD} characters", ""
    shorter, longer = sorted((length(source), length(target)))
    if longer > settings.words_limit:
        return f"more than {settings.words_limit} words (data.words_limit)", f"{longer} words"
    if longer - shorter > _SHORT_WORDS and longer > settings.length_ratio * shorter:
        return f"length ratio above {settings.length_ratio:g} (data.length_ratio)", f"{shorter} and {longer} words"
    return None


@dataclass(frozen=True)
class Split:
    """Indices of each part; `components` counts groups of pairs that share a side, `largest` is the biggest one."""

    parts: dict[str, list[int]]
    components: int
    largest: int


def split(pairs: Pairs, settings: Data) -> Split:
    """Cut off test and dev so that no normalised source or target occurs in two parts.

    Pairs that share a side, directly or through others, form a component and stay together. Small components are
    cut off first, in the order of a hash of `data.split_seed` and their text: the order of the file plays no
    role, and the first sentences of test and dev are a random sample of them.

    Raises:
        UserError: there are too few pairs; a part is never made shorter than asked.

    """
    asked = {"test": settings.test_sentences, "dev": settings.dev_sentences}
    if len(pairs) <= sum(asked.values()):
        raise UserError(
            f"data.test_sentences: {asked['test']} and data.dev_sentences: {asked['dev']} leave nothing to train on: "
            f"the cleaned corpus has {len(pairs):,} pairs{_because(pairs)}"
        )
    groups = _components([normalise(s) for s in pairs.sources], [normalise(t) for t in pairs.targets])
    keyed = [
        (len(group), min(_hash(settings.split_seed, pairs.sources[i], pairs.targets[i]) for i in group), group)
        for group in groups
    ]
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
            raise UserError(
                f"data.{part}_sentences: {wanted} cannot be cut off: only {len(chosen):,} pairs of the {len(pairs):,} "
                f"share no sentence with the rest; ask for fewer or give more text"
            )
        parts[part] = chosen
    parts["train"] = [index for index in range(len(pairs)) if index not in taken]
    if not parts["train"]:
        raise UserError(
            "data: every pair shares a sentence with dev or test and none is left to train on; give more text"
        )
    return Split({part: parts[part] for part in PARTS}, len(groups), max(map(len, groups)))


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


def _hash(seed: int, source: str, target: str) -> bytes:
    return hashlib.sha256(f"{seed}\t{source}\t{target}".encode()).digest()


def _because(pairs: Pairs) -> str:
    return f"; dropped: {pairs.drops.summary()}" if pairs.drops.counts else ""
