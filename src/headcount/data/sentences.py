"""Sentences of aligned paragraphs: split only where both sides have the same number of them."""

from __future__ import annotations

import re

_END = re.compile(r"[.!?…]+[\"'”»’)\]]*\s+|[。！？।]+[」』）]*\s*")
_OPENING = "\"'“„«‘([¿¡‚「『（"
# A point after these is no end, even before a capital letter; one letter and forms such as `z.B.` need no list.
_ABBREVIATIONS = frozenset(("abb", "bzw", "ca", "cf", "evtl", "fig", "ggf", "inkl", "nr", "sog", "vgl", "vs"))


def aligned_sentences(source: str, target: str) -> list[tuple[str, str]]:
    """Return the sentence pairs of two paragraphs, or the whole paragraphs when the numbers differ."""
    sides = sentences(source), sentences(target)
    if len(sides[0]) != len(sides[1]):
        return [(source, target)]
    return list(zip(*sides, strict=True))


def sentences(text: str) -> list[str]:
    """Split a paragraph after end marks that no small letter follows."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        following = text[end.end() :].lstrip(_OPENING)
        if following and not following[0].islower() and not _abbreviated(text[start : end.start()], end[0]):
            found.append(text[start : end.end()].strip())
            start = end.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _abbreviated(before: str, end: str) -> bool:
    """Say whether a point belongs to the word before it: an abbreviation, one letter or an ordinal number."""
    word = before.rpartition(" ")[2].lstrip(_OPENING).casefold()
    return end.strip() == "." and (len(word) == 1 or word.isdigit() or "." in word or word in _ABBREVIATIONS)
