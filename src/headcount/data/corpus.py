"""A raw corpus made fit for use: whole pairs are cleaned or dropped, each with its reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.data.text import Drops, Pairs, tidy
from headcount.data.words import length, words

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data

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
