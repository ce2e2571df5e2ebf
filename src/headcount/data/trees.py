"""Dependency trees as CoNLL-U, the contract between any parser and the rest; free of parsers and of torch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headcount.data.text import read_lines
from headcount.errors import UserError

COLUMNS = 10
"""ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC; ID, FORM, HEAD and DEPREL are read."""

SAME_RELATION = {"obj": "dobj"}
"""Universal Dependencies' name -> the name in the paper's scheme, which spaCy's English models share."""

_ID = re.compile(r"[1-9][0-9]*")
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY_NODE = re.compile(r"[0-9]+\.[1-9][0-9]*")


@dataclass(frozen=True)
class Word:
    """A word of a tree.

    Attributes:
        form: what the word is.
        head: number of its head, counted from 1; 0 at a root.
        relation: to its head, by its canonical name.
        surface: what of the sentence's text it covers: its form; where a multiword range is written differently from
            its words (`im` for `in dem`), the range's first word covers it all and the others nothing.

    """

    form: str
    head: int
    relation: str
    surface: str


Tree = tuple[Word, ...]
"""The words of a sentence in their order; several roots are allowed, since a line may hold several sentences."""


def canonical(relation: str) -> str:
    """Return the one name of a relation that goes by two."""
    return SAME_RELATION.get(relation, relation)


def squeezed(text: str) -> str:
    """Return the text without any white space: what a sentence and the forms of its tree have in common."""
    return "".join(text.split())


def read_trees(path: Path) -> list[Tree]:
    """Read a CoNLL-U file; multiword ranges only tell what their words cover, empty nodes are skipped.

    Raises:
        UserError: no such file, or a line that is not CoNLL-U; the message names path and line.

    """
    return [_tree(path, block) for block in _blocks(read_lines(path))]


def text_of(trees: Iterable[Tree]) -> str:
    """Return the trees as CoNLL-U; reading them gives equal trees."""
    return "".join(f"{_block(tree)}\n\n" for tree in trees)


def find_trees(trees: Sequence[Tree], sentences: Sequence[str]) -> list[Tree | None]:
    """Return the tree of each sentence, found by its text without spaces; None where no tree has that text.

    Trees of other sentences and any order are welcome; of several trees of one text the first counts.
    """
    known: dict[str, Tree] = {}
    for tree in trees:
        known.setdefault(squeezed("".join(word.surface for word in tree)), tree)
    return [known.get(squeezed(sentence)) for sentence in sentences]


def offsets(trees: Iterable[Tree]) -> Counter[tuple[str, int]]:
    """Count (relation, position of the dependent minus position of its head, in words), roots left out."""
    return Counter(
        (word.relation, number - word.head) for tree in trees for number, word in enumerate(tree, start=1) if word.head
    )


def best_fixed_offset(counts: Counter[tuple[str, int]], relation: str) -> float:
    """Return the share of the relation's commonest offset, the baseline of voita2019 table 1; NaN for an absent one."""
    found = [count for (name, _), count in counts.items() if name == relation]
    return max(found) / sum(found) if found else float("nan")


def _blocks(lines: list[str]) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of each sentence with their numbers, comments left out."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip() == "":
            if block:
                yield block
            block = []
        elif not line.startswith("#"):
            block.append((number, line))


def _tree(path: Path, block: list[tuple[int, str]]) -> Tree:
    rows: list[list[str]] = []
    lines: list[int] = []
    ranges: dict[int, tuple[int, str]] = {}  # first word -> last word and the form of the range
    for line, text in block:
        columns = text.split("\t")
        if len(columns) != COLUMNS:
            raise _fault(path, line, f"{len(columns)} columns; CoNLL-U has {COLUMNS}, separated by tabs")
        number, form = columns[0], columns[1]
        if not form.strip():
            raise _fault(path, line, "the FORM is empty")
        if found := _RANGE.fullmatch(number):
            first, last = int(found[1]), int(found[2])
            if first != len(rows) + 1 or last < first:
                raise _fault(path, line, f"range {number} does not stand before its words")
            ranges[first] = (last, form)
        elif _ID.fullmatch(number):
            if int(number) != len(rows) + 1:
                raise _fault(path, line, f"word {number} where word {len(rows) + 1} is due")
            rows.append(columns)
            lines.append(line)
        elif not _EMPTY_NODE.fullmatch(number):
            raise _fault(
                path, line, f"ID {number!r}; allowed: a number, a range such as 3-4, an empty node such as 3.1"
            )
    if not rows:
        raise _fault(path, block[0][0], "a sentence without words")
    for last, form in ranges.values():
        if last > len(rows):
            raise _fault(path, block[0][0], f"the range of {form!r} ends at word {last} of {len(rows)}")
    heads = [_head(path, line, row[6], len(rows)) for line, row in zip(lines, rows, strict=True)]
    _refuse_circles(path, lines, heads)
    surfaces = _surfaces([row[1] for row in rows], ranges)
    return tuple(
        Word(form=row[1], head=head, relation=canonical(row[7]), surface=surface)
        for row, head, surface in zip(rows, heads, surfaces, strict=True)
    )


def _head(path: Path, line: int, value: str, words: int) -> int:
    if not value.isdecimal() or int(value) > words:
        raise _fault(path, line, f"HEAD {value!r}; allowed: 0 to {words}")
    return int(value)


def _refuse_circles(path: Path, lines: list[int], heads: list[int]) -> None:
    """Follow the heads of every word; each must come to a root."""
    sound = {0}
    for start, line in enumerate(lines, start=1):
        way: list[int] = []
        at = start
        while at not in sound:
            if at in way:
                raise _fault(path, line, f"the heads of word {start} form a circle")
            way.append(at)
            at = heads[at - 1]
        sound.update(way)


def _surfaces(forms: list[str], ranges: dict[int, tuple[int, str]]) -> list[str]:
    surfaces = list(forms)
    for first, (last, form) in ranges.items():
        if squeezed("".join(forms[first - 1 : last])) != squeezed(form):
            surfaces[first - 1 : last] = [form, *[""] * (last - first)]
    return surfaces


def _block(tree: Tree) -> str:
    lines = []
    for number, word in enumerate(tree, start=1):
        last = number
        while last < len(tree) and not tree[last].surface:
            last += 1
        if word.surface and (last > number or word.surface != word.form):  # the words that cover nothing are its range
            lines.append("\t".join([f"{number}-{last}", word.surface, *["_"] * (COLUMNS - 2)]))
        columns = [str(number), word.form, *["_"] * 4, str(word.head), word.relation, "_", "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines)


def _fault(path: Path, line: int, what: str) -> UserError:
    return UserError(f"{path}: line {line}: {what}")
