"""Bytes to rows and sentences: LF is the only record boundary, and whatever is removed is counted."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headcount.errors import UserError
from headcount.registry import nearest

EXAMPLES = 20
"""Rows named for each reason; the counts are always complete."""

_BOM = b"\xef\xbb\xbf"
# Other stages and tools may take these for the end of a line, so none may survive inside a sentence.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
# Soft hyphen, zero-width space, direction marks and the byte order mark: nothing to see, but part of a token.
# The zero-width joiners are spelling in several scripts and stay.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Drops:
    """Dropped rows: every one counted by its reason, the first few of each named."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def add(self, reason: str, row: int, detail: str = "") -> None:
        """Count one dropped row; `row` is its line number in the file, from 1."""
        self.counts[reason] += 1
        shown = self.examples.setdefault(reason, [])
        if len(shown) < EXAMPLES:
            shown.append(f"row {row}: {detail}" if detail else f"row {row}")

    def add_all(self, other: Drops) -> None:
        """Take over what an earlier stage dropped."""
        self.counts.update(other.counts)
        for reason, rows in other.examples.items():
            shown = self.examples.setdefault(reason, [])
            shown.extend(rows[: EXAMPLES - len(shown)])

    def summary(self) -> str:
        """Return `3 empty side (row 3, row 5, ...)` for each reason, the commonest first."""
        parts = []
        for reason, count in self.counts.most_common():
            rows = self.examples.get(reason, [])[:3]
            parts.append(f"{count:,} {reason} ({'; '.join(rows)}{'; ...' if count > len(rows) else ''})")
        return ", ".join(parts)


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs with their provenance; `rows` are line numbers of the original file."""

    name: str
    sources: list[str]
    targets: list[str]
    rows: list[int]
    licence: str
    attribution: str
    origin: dict[str, Any]
    drops: Drops = field(default_factory=Drops)
    notes: Counter[str] = field(default_factory=Counter)
    trees: list[str] | None = None
    """CoNLL-U block of each source sentence, where the corpus has gold trees."""
    alignments: list[str] | None = None
    """Gold word links `source-target`, both from 0, of each pair."""
    documents: list[str] | None = None
    """Document of each pair, where a corpus has documents; the split keeps them whole."""

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def dropped(self) -> dict[str, int]:
        """Number of dropped rows by reason."""
        return dict(self.drops.counts)

    @property
    def examples(self) -> dict[str, list[str]]:
        """Line numbers of some dropped rows by reason."""
        return self.drops.examples

    def select(self, indices: Sequence[int]) -> Pairs:
        """Return the pairs at `indices`, in that order; whole pairs, so the sides cannot slide."""
        return replace(
            self,
            sources=[self.sources[i] for i in indices],
            targets=[self.targets[i] for i in indices],
            rows=[self.rows[i] for i in indices],
            trees=None if self.trees is None else [self.trees[i] for i in indices],
            alignments=None if self.alignments is None else [self.alignments[i] for i in indices],
            documents=None if self.documents is None else [self.documents[i] for i in indices],
        )


@dataclass(frozen=True)
class Rows:
    """Rows of one text file; a row with a fault has the text "" and is named in `faults`."""

    texts: list[str]
    faults: dict[int, tuple[str, str]]
    """Line number from 1 -> (reason, file and byte)."""
    notes: Counter[str]
    origin: dict[str, Any]


def read_rows(path: Path) -> Rows:
    """Read a UTF-8 file whose lines end in LF or CR LF; a byte order mark is skipped and counted.

    A row with a NUL byte or with invalid UTF-8 is a fault of that row alone.

    Raises:
        UserError: there is no such file, or it cannot be read.

    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UserError(f"{path}: no such file{nearest(path.name, beside)}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    origin = {"file": str(path), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    notes: Counter[str] = Counter()
    if content.startswith(_BOM):
        content = content[len(_BOM) :]
        notes["byte order mark at the start of a file"] += 1
    rows = content.split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    texts: list[str] = []
    faults: dict[int, tuple[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        if row.endswith(b"\r"):
            row = row[:-1]
            notes["CR before LF"] += 1
        text = ""
        if (position := row.find(b"\0")) >= 0:
            faults[number] = ("NUL byte", f"{path.name}, byte 0x00 at position {position + 1} of the line")
        else:
            try:
                text = row.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"byte 0x{row[error.start]:02X} at position {error.start + 1} of the line"
                faults[number] = ("invalid UTF-8", f"{path.name}, {where}")
        texts.append(text)
    return Rows(texts, faults, notes, origin)


def read_lines(path: Path) -> list[str]:
    """Read a text file of which every line counts, such as translations: nothing is dropped.

    Raises:
        UserError: no such file, or a line that is not clean UTF-8; the message names line and byte.

    """
    rows = read_rows(path)
    for row, (reason, detail) in rows.faults.items():
        raise UserError(f"{path}: line {row}: {reason}: {detail}")
    return rows.texts


def tidy(text: str, notes: Counter[str]) -> str:
    """Return the sentence in NFC, without invisible characters and with single plain spaces; count every change."""
    for pattern, by in ((_INVISIBLE, ""), (_CONTROL, " ")):
        if found := pattern.findall(text):
            notes.update(_name(character) for character in found)
            text = pattern.sub(by, text)
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
        notes["sentences composed to NFC"] += 1
    spaced = " ".join(text.split())
    if spaced != text:
        notes["sentences with odd or surplus spaces"] += 1
    return spaced


def _name(character: str) -> str:
    """Return `U+2028 LINE SEPARATOR`."""
    return f"U+{ord(character):04X} {unicodedata.name(character, 'control character')}"
