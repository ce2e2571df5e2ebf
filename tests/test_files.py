"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headcount.errors import UserError
from headcount.files import atomic_path, atomic_write


def fail_while_writing(path: Path, error: Exception) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        raise error


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path):
    path = tmp_path / "value.txt"
    atomic_write(path, "old")
    with pytest.raises(ValueError, match="broken"):
        fail_while_writing(path, ValueError("broken"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left on the disk"),
        (errno.EDQUOT, "no space left in the quota"),
        (errno.EFBIG, "larger than this process may write"),
    ],
)
def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path, number: int, message: str):
    path = tmp_path / "value.txt"
    atomic_write(path, "old")
    with pytest.raises(UserError, match=message):
        fail_while_writing(path, OSError(number, os.strerror(number)))
    assert path.read_text() == "old"


def test_text_is_utf8_with_lf(tmp_path: Path):
    atomic_write(tmp_path / "text", "é\n")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xa9\n"
