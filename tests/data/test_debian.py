"""Packages of the system: fetched once, in one version, without privilege, and clear advice when they cannot be had."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headcount.data import debian
from headcount.data.debian import Deb, apt_download, cached, fetch, reachable, tar_of
from headcount.errors import UserError
from needs import needs

NAMES = ["help-en", "help-de"]


class Mirror:
    """Stands for apt-get: hands out files of its current version."""

    def __init__(self, version: str = "4%3a7.4-1+u9") -> None:
        self.version = version
        self.asked: list[list[str]] = []

    def __call__(self, names: Sequence[str], folder: Path) -> None:
        self.asked.append(list(names))
        for name in names:
            (folder / f"{name}_{self.version}_all.deb").write_bytes(f"{name} {self.version}".encode())


def completed(returncode: int, stdout: str = "", stderr: str = "") -> Any:
    return subprocess.CompletedProcess([], returncode, stdout, stderr)


def test_fetched_once_and_described(tmp_path: Path) -> None:
    mirror = Mirror()
    found = fetch(NAMES, tmp_path / "cache", mirror)
    assert [(deb.name, deb.version) for deb in found] == [("help-en", "4:7.4-1+u9"), ("help-de", "4:7.4-1+u9")]
    assert found[0].sha256 == hashlib.sha256(b"help-en 4%3a7.4-1+u9").hexdigest()
    assert fetch(NAMES, tmp_path / "cache", mirror) == found
    assert fetch(NAMES[::-1], tmp_path / "cache", mirror) == found[::-1]
    assert mirror.asked == [NAMES]
    assert not list((tmp_path / "cache").glob(".apt-*"))


def test_all_files_are_of_one_version_and_the_newest(tmp_path: Path) -> None:
    mirror = Mirror()
    fetch(NAMES, tmp_path, mirror)
    mirror.version = "4%3a7.4-1+u14"
    fetch(["help-en", "help-fr"], tmp_path, mirror)
    assert mirror.asked[1] == ["help-en", "help-fr"]
    assert {deb.version for deb in cached(NAMES, tmp_path) or []} == {"4:7.4-1+u9"}
    assert cached(["help-de", "help-fr"], tmp_path) is None
    fetch(["help-de", "help-fr"], tmp_path, mirror)
    assert {deb.version for deb in cached(NAMES, tmp_path) or []} == {"4:7.4-1+u14"}


def test_no_network_is_advice_that_works(tmp_path: Path) -> None:
    def offline(names: Sequence[str], folder: Path) -> None:
        raise UserError("apt-get: Could not resolve the mirror")

    with pytest.raises(UserError, match=r"help-en, help-de cannot be had: apt-get: Could not .* Copy .* and run again"):
        fetch(NAMES, tmp_path, offline)
    Mirror()(NAMES, tmp_path)
    assert len(fetch(NAMES, tmp_path, offline)) == 2


def test_half_a_delivery_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="delivered no files of one version"):
        fetch(NAMES, tmp_path, lambda names, folder: Mirror()(names[:1], folder))


def test_missing_or_old_lists_are_fetched_into_a_folder_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def run(command: list[str], folder: Path | None = None) -> Any:
        calls.append(command)
        assert folder == tmp_path
        fault = "W: slow\nE: Unable to locate package help-en\nE: more\n"
        return completed(100 if len(calls) in failing else 0, stderr=fault)

    monkeypatch.setattr(debian.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(debian, "_run", run)
    failing = {1}
    apt_download(NAMES, tmp_path)
    assert [command[-3:] for command in (calls[0], calls[2])] == [["download", *NAMES]] * 2
    assert calls[1][-1] == "update"
    assert f"Dir::State::Lists={tmp_path / 'lists'}" in calls[1]
    assert calls[1][1:-1] == calls[2][1:-3]
    shutil.rmtree(tmp_path / "lists")
    shutil.rmtree(tmp_path / "archives")
    calls.clear()
    failing = {1, 3}
    with pytest.raises(UserError, match=r"^apt-get: Unable to locate package help-en$"):
        apt_download(NAMES, tmp_path)


def test_reachable_tells_what_will_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    answer = "".join(f"'http://mirror/{name}.deb' {name}.deb 1500000 SHA256:0\n" for name in NAMES)
    monkeypatch.setattr(debian, "_run", lambda command: completed(0, answer))
    cache = tmp_path / "cache"
    assert reachable(NAMES, cache) == "will be downloaded by apt-get (3 MB)"
    monkeypatch.setattr(debian, "_run", lambda command: completed(100))
    assert "once it has fetched its package lists" in reachable(NAMES, cache)
    assert not cache.exists()
    fetch(NAMES, cache, Mirror())
    assert reachable(NAMES, cache).startswith(f"cached in {cache / 'help-en_'}")


@pytest.mark.parametrize("missing", ["apt-get", "dpkg-deb"])
def test_a_system_without_the_tools_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr(debian.shutil, "which", lambda tool: None if tool == missing else f"/usr/bin/{tool}")
    with pytest.raises(UserError, match=f"{missing}: not found; this corpus needs the tools of a Debian"):
        reachable(NAMES, tmp_path)
    if missing == "dpkg-deb":
        with pytest.raises(UserError, match="dpkg-deb: not found"):
            tar_of(Deb(tmp_path / "x_1_all.deb"))


def test_a_damaged_package_is_named(tmp_path: Path) -> None:
    needs("dpkg-deb")
    (tmp_path / "help-en_1_all.deb").write_bytes(b"half a package")
    with pytest.raises(UserError, match=r"help-en_1_all\.deb: cannot be unpacked: .*delete it and run again"):
        tar_of(Deb(tmp_path / "help-en_1_all.deb"))
