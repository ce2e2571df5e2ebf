"""Where pieces and words stand in the raw sentence, and which word each piece belongs to.

A span is (begin, end) in characters of the raw sentence. A piece belongs to the word that holds its first character
other than a space; a piece of nothing but a space to the word behind it. Free of torch.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from headcount.data.subword import Subword
from headcount.data.trees import Tree, squeezed
from headcount.data.words import unspaced

Span = tuple[int, int]
Integers = npt.NDArray[np.int64]

NO_WORD = -1
"""Owner of a piece that belongs to no word."""

_CHUNK = re.compile(r"\S+")
_TOKEN = re.compile(r"\w+|[^\w\s]")


class SpannedSubword(Subword):
    """A subword model that also tells its pieces as text."""

    def pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each sentence, EOS left out; `▁` is a space, and one stands before the first word.

        Nothing is normalised, so the pieces of a sentence are its characters behind one space.
        """
        found: list[list[str]] = self._model.encode(list(sentences), out_type=str)
        return found

    @property
    def names(self) -> list[str]:
        """The text of every piece by its id."""
        return [str(self._model.id_to_piece(piece)) for piece in range(self.size)]


def piece_begins(pieces: Sequence[str]) -> Integers:
    """Return where each piece of a sentence begins, [piece]; the space before the sentence is no part of it."""
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    return np.maximum(ends - [len(piece) for piece in pieces] - 1, 0)


def owners(text: str, begins: Integers, spans: Sequence[Span]) -> Integers:
    """Return the word of each piece by its number from 0, [piece]; `NO_WORD` where no span holds it.

    Args:
        text: the raw sentence.
        begins: of each piece, [piece].
        spans: of the words, in order and apart; an empty span owns nothing.

    """
    of_character = np.full(len(text) + 1, NO_WORD, dtype=np.int64)  # [character], and one behind the last
    for number, (begin, end) in enumerate(spans):
        of_character[begin:end] = number
    for place in range(len(text) - 1, -1, -1):
        if text[place].isspace():
            of_character[place] = of_character[place + 1]
    return of_character[begins]


def tree_spans(tree: Tree, text: str) -> list[Span]:
    """Return the span of each word of a tree; (0, 0) for a word that covers nothing.

    Raises:
        ValueError: the tree is not of this text; `trees.find_trees` finds one that is.

    """
    if squeezed("".join(word.surface for word in tree)) != squeezed(text):
        raise ValueError(f"the tree is not of {text!r}")
    places = [place for place, character in enumerate(text) if not character.isspace()]
    spans, used = [], 0
    for word in tree:
        length = len(squeezed(word.surface))
        covered = places[used : used + length]
        spans.append((covered[0], covered[-1] + 1) if covered else (0, 0))
        used += length
    return spans


def token_spans(text: str) -> list[Span]:
    """Return the runs of letters and digits and the single marks of a sentence."""
    return [found.span() for found in _TOKEN.finditer(text)]


def word_spans(text: str) -> list[Span]:
    """Return the written words of a sentence: what stands between spaces, the marks around it apart.

    Hyphens and apostrophes inside stay, as in the clusters of correia2019 figure 8. A character of a script without
    spaces is a word of its own.
    """
    spans: list[Span] = []
    for chunk in _CHUNK.finditer(text):
        begin = chunk.start()
        for alone, characters in groupby(chunk[0], unspaced):
            end = begin + len(list(characters))
            spans += [(place, place + 1) for place in range(begin, end)] if alone else _without_marks(text, begin, end)
            begin = end
    return spans


def _without_marks(text: str, begin: int, end: int) -> list[Span]:
    """Return each mark at either end of a run of characters, and what is left between them."""
    inner_begin, inner_end = begin, end
    while inner_begin < end and _is_mark(text[inner_begin]):
        inner_begin += 1
    while inner_end > inner_begin and _is_mark(text[inner_end - 1]):
        inner_end -= 1
    inner = [(inner_begin, inner_end)] if inner_begin < inner_end else []
    marks = [(place, place + 1) for place in (*range(begin, inner_begin), *range(inner_end, end))]
    return sorted([*marks, *inner])


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
