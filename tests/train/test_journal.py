from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from headcount.errors import FolderInUseError, UserError
from headcount.train.journal import Journal, read


def _filled(path: Path, updates: range) -> Journal:
    journal = Journal(path)
    for update in updates:
        journal.write(update=update, **{"valid/loss": update / 3})
    return journal


def test_lines_come_back(tmp_path: Path):
    _filled(tmp_path / "run" / "journal.jsonl", range(1, 4))
    lines = read(tmp_path / "run" / "journal.jsonl")
    assert lines == [{"update": update, "valid/loss": update / 3} for update in range(1, 4)]


def test_rewind_drops_later_lines_only(tmp_path: Path):
    journal = _filled(tmp_path / "journal.jsonl", range(10, 60, 10))
    whole = journal.path.read_bytes()
    assert len(journal.rewind(100)) == 5
    assert journal.path.read_bytes() == whole
    assert journal.rewind(30) == read(journal.path)
    assert [line["update"] for line in read(journal.path)] == [10, 20, 30]
    assert journal.rewind(0) == []
    assert read(journal.path) == []


def test_rewind_of_nothing(tmp_path: Path):
    assert Journal(tmp_path / "journal.jsonl").rewind(5) == []
    assert list(tmp_path.iterdir()) == []


def test_the_journal_of_another_process_is_left_as_it_is(tmp_path: Path):
    path = _filled(tmp_path / "journal.jsonl", range(1, 4)).path
    before = path.read_bytes()

    def check_owner() -> None:
        raise FolderInUseError("taken over")

    journal = Journal(path, check_owner=check_owner)
    with pytest.raises(FolderInUseError):
        journal.write(update=4)
    with pytest.raises(FolderInUseError):
        journal.rewind(1)
    assert path.read_bytes() == before


def test_a_half_last_line_is_left_out_and_rewound(tmp_path: Path):
    journal = _filled(tmp_path / "journal.jsonl", range(1, 4))
    whole = journal.path.read_bytes()
    for cut in range(1, 8):
        journal.path.write_bytes(whole[:-cut])
        assert [line["update"] for line in read(journal.path)] == [1, 2]
    journal.rewind(3)
    journal.write(update=3, loss=1.0)
    assert [line["update"] for line in read(journal.path)] == [1, 2, 3]


def test_a_character_cut_in_half_is_a_half_line(tmp_path: Path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"update": 1}\n' + '{"update": 2, "text": "ä'.encode()[:-1])
    assert read(path) == [{"update": 1}]


@pytest.mark.parametrize("damage", ["{", "[1]", "", "nonsense"])
def test_damage_in_the_middle_is_named(tmp_path: Path, damage: str):
    path = tmp_path / "journal.jsonl"
    path.write_text(f'{{"update": 1}}\n{damage}\n{{"update": 3}}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"journal\.jsonl: line 2"):
        read(path)


def test_what_is_not_finite_is_flagged_not_faked(tmp_path: Path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.write(update=1, loss=math.nan, norm=math.inf, low=-math.inf, gates={"encoder": [[0.5, math.nan]]})
    (line,) = journal.path.read_text(encoding="utf-8").splitlines()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(line, parse_constant=refuse) == {
        "update": 1,
        "loss": "NaN",
        "norm": "Infinity",
        "low": "-Infinity",
        "gates": {"encoder": [[0.5, "NaN"]]},
    }
    journal.rewind(1)
    assert read(journal.path)[0]["loss"] == "NaN"


def test_a_full_disk_is_named():
    with pytest.raises(UserError, match="/dev/full: cannot append to the journal: No space left"):
        Journal(Path("/dev/full")).write(update=1)
