"""Rows end at LF and nowhere else; what is removed is counted; broken bytes cost one pair and are named."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.text import EXAMPLES, Drops, Pairs, read_lines, read_rows, tidy
from headcount.errors import UserError


def written(folder: Path, content: bytes, name: str = "text.en") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("boundary", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_only_lf_ends_a_row(tmp_path: Path, boundary: str) -> None:
    rows = read_rows(written(tmp_path, f"one\ntwo{boundary}half\nthree".encode()))
    notes: Counter[str] = Counter()
    assert [tidy(text, notes) for text in rows.texts] == ["one", "two half", "three"]
    assert notes[f"U+{ord(boundary):04X} {unicodedata.name(boundary, 'control character')}"] == 1


def test_byte_order_mark_and_windows_endings_are_counted(tmp_path: Path) -> None:
    rows = read_rows(written(tmp_path, b"\xef\xbb\xbfone\r\ntwo\r\nthree\n"))
    assert rows.texts == ["one", "two", "three"]
    assert rows.notes == {"byte order mark at the start of a file": 1, "CR before LF": 2}


def test_empty_rows_stay_rows(tmp_path: Path) -> None:
    assert read_rows(written(tmp_path, b"\n\nthree\n\n")).texts == ["", "", "three", ""]
    assert read_rows(written(tmp_path, b"")).texts == []


def test_broken_bytes_are_named_with_file_row_and_byte(tmp_path: Path) -> None:
    rows = read_rows(written(tmp_path, b"fine\nbro\0ken\nol\xe9\nfine\n"))
    assert rows.texts == ["fine", "", "", "fine"]
    assert rows.faults == {
        2: ("NUL byte", "text.en, byte 0x00 at position 4 of the line"),
        3: ("invalid UTF-8", "text.en, byte 0xE9 at position 3 of the line"),
    }


def test_lines_that_all_count_are_refused_when_broken(tmp_path: Path) -> None:
    assert read_lines(written(tmp_path, b"\xef\xbb\xbfone\r\n\ntwo")) == ["one", "", "two"]
    with pytest.raises(UserError, match=r"text\.en: line 2: invalid UTF-8: .*0xE9 at position 3"):
        read_lines(written(tmp_path, b"fine\nol\xe9\n"))


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, b"x\n", "news.de-en.en")
    with pytest.raises(UserError, match=r"news\.de-en\.eng: no such file; did you mean 'news\.de-en\.en'"):
        read_rows(tmp_path / "news.de-en.eng")
    with pytest.raises(UserError, match="cannot be read"):
        read_rows(tmp_path)


def test_tidy_composes_and_removes_what_cannot_be_seen() -> None:
    notes: Counter[str] = Counter()
    assert tidy("\ufeff ole\u0301  Ge\u00adbirge\u00a0!\r", notes) == "ol\u00e9 Gebirge !"
    assert notes["U+00AD SOFT HYPHEN"] == notes["U+FEFF ZERO WIDTH NO-BREAK SPACE"] == 1
    assert notes["sentences composed to NFC"] == notes["U+000D control character"] == 1


@given(st.text())
def test_tidy_is_idempotent_and_leaves_no_boundary(text: str) -> None:
    once = tidy(text, Counter())
    again: Counter[str] = Counter()
    assert tidy(once, again) == once
    assert not again
    assert len(once.splitlines()) <= 1
    assert unicodedata.is_normalized("NFC", once)
    assert not set(once) & set("\ufeff\r\0\t\n")


def test_drops_count_everything_and_name_the_first() -> None:
    drops = Drops()
    for row in range(1, EXAMPLES + 11):
        drops.add("empty side", row, "target")
    earlier = Drops()
    earlier.add("empty side", 900)
    earlier.add("repeated pair", 901)
    drops.add_all(earlier)
    assert drops.counts == {"empty side": EXAMPLES + 11, "repeated pair": 1}
    assert len(drops.examples["empty side"]) == EXAMPLES
    assert drops.summary().startswith(f"{EXAMPLES + 11} empty side (row 1: target; row 2: target; row 3: target; ...)")
    assert drops.summary().endswith("1 repeated pair (row 901)")


def test_selection_keeps_everything_of_a_pair_together() -> None:
    texts = ["a", "b", "c"], ["A", "B", "C"]
    pairs = Pairs("x", *texts, [1, 2, 3], "", "", {}, trees=["ta", "tb", "tc"], documents=["p", "p", "q"])
    chosen = pairs.select([2, 0])
    assert (chosen.sources, chosen.targets, chosen.rows, chosen.trees) == (["c", "a"], ["C", "A"], [3, 1], ["tc", "ta"])
    assert chosen.documents == ["q", "p"]
    assert chosen.alignments is None
    assert len(chosen) == 2
