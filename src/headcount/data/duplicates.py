"""Test sentences that differ from a training sentence by one word at most: a score should be given without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from headcount.data.words import normalise, unspaced


def near_duplicates(test: Sequence[str], train: Iterable[str]) -> list[int]:
    """Return the indices of test sentences with a train sentence one word away: substituted, inserted or deleted.

    In a script without spaces one or two neighbouring characters make a word. Case, punctuation and spacing play no
    role. Sentences without a common word are never near. Only the test sentences are kept as an index, so a large
    training text costs time but no memory.
    """
    whole: dict[str, set[int]] = defaultdict(set)
    shortened: dict[str, set[int]] = defaultdict(set)  # one word left out
    gapped: dict[tuple[int, str], set[int]] = defaultdict(set)  # one word left out, and where
    for index, sentence in enumerate(test):
        text = normalise(sentence)
        whole[text].add(index)
        for place, rest in _deletions(text):
            shortened[rest].add(index)
            gapped[place, rest].add(index)
    found: set[int] = set()
    for sentence in train:
        text = normalise(sentence)
        found |= whole.get(text, set()) | shortened.get(text, set())
        for place, rest in _deletions(text):
            found |= whole.get(rest, set()) | gapped.get((place, rest), set())
    return sorted(found)


def _deletions(text: str) -> list[tuple[int, str]]:
    """Return the place of each word and the text without it, as long as something is left."""
    units = text.split(" ")
    single = [unspaced(unit) for unit in units]
    gaps = [(place, place + 1) for place in range(len(units))]
    gaps += [(place, place + 2) for place in range(len(units) - 1) if single[place] and single[place + 1]]
    return [(start, " ".join(units[:start] + units[end:])) for start, end in gaps if end - start < len(units)]
