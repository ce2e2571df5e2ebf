"""Packages of a Debian-like system as corpora: fetched by `apt-get` without installing them, kept in a cache folder."""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from headcount.data.package import exclusive, writable
from headcount.errors import UserError

LOG = logging.getLogger(__name__)

_UNFINISHED = ".apt-"
"""Beginning of the names of folders that a download uses."""


@dataclass(frozen=True)
class Deb:
    """A package file in the cache folder."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the package."""
        return self.path.name.split("_")[0]

    @property
    def version(self) -> str:
        """Version of the package."""
        return unquote(self.path.name.split("_")[1])

    @property
    def sha256(self) -> str:
        """Hash of the file."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


Download = Callable[[Sequence[str], Path], None]
"""Puts the files of the named packages into a folder, or raises UserError with the reason."""


def cached(names: Sequence[str], cache: Path) -> list[Deb] | None:
    """Return the files of the packages in the cache folder, all of one version, the newest; None if one is missing."""
    found = [{deb.version: deb for deb in map(Deb, cache.glob(f"{name}_*.deb"))} for name in names]
    shared = set[str].intersection(*map(set, found))
    if not shared:
        return None
    newest = max(shared, key=_natural)
    return [debs[newest] for debs in found]


def fetch(names: Sequence[str], cache: Path, download: Download) -> list[Deb]:
    """Return the files of the packages, fetched first when the cache folder does not hold all in one version.

    Versions move with security updates and old ones leave the mirrors, so none is pinned: whoever uses the files
    records version and hash. `apt-get` verifies what it downloads against the signed lists of the system.

    Raises:
        UserError: the packages cannot be had here; the message says what to do.

    """
    if found := cached(names, cache):
        return found
    writable(cache)
    cache.mkdir(parents=True, exist_ok=True)
    with exclusive(cache / "debian.lock"):
        for stale in cache.glob(f"{_UNFINISHED}*"):  # left by a killed process; we hold the lock
            shutil.rmtree(stale, ignore_errors=True)
        if found := cached(names, cache):
            return found
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=cache) as folder:
            LOG.info("downloading %s", ", ".join(names))
            try:
                download(names, Path(folder))
            except UserError as error:
                raise UserError(_advice(names, cache, str(error))) from None
            for path in Path(folder).glob("*.deb"):
                path.replace(cache / path.name)
    if found := cached(names, cache):
        return found
    raise UserError(_advice(names, cache, "apt-get delivered no files of one version"))


def reachable(names: Sequence[str], cache: Path) -> str:
    """Return whether the files are in the cache folder or will be downloaded, without downloading them.

    Raises:
        UserError: a tool is missing, or the cache folder cannot be written.

    """
    _require("dpkg-deb")
    if found := cached(names, cache):
        return f"cached in {', '.join(str(deb.path) for deb in found)}"
    _require("apt-get")
    writable(cache)
    asked = _run(["apt-get", "download", "--print-uris", *names])
    sizes = [int(size) for size in re.findall(r"^'\S+' \S+ (\d+)", asked.stdout, flags=re.MULTILINE)]
    if asked.returncode or len(sizes) < len(names):
        return "will be downloaded by apt-get, once it has fetched its package lists"
    return f"will be downloaded by apt-get ({sum(sizes) / 1e6:.0f} MB)"


def apt_download(names: Sequence[str], folder: Path) -> None:
    """Let `apt-get` fetch the files; no privilege is needed and nothing of the system changes.

    Where the system's package lists are missing or outdated, fresh ones are fetched into `folder` and used alone.
    """
    _require("apt-get")
    if not _run(["apt-get", "download", *names], folder).returncode:
        return
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    own = ["-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder}"]
    _run(["apt-get", *own, "update"], folder)
    done = _run(["apt-get", *own, "download", *names], folder)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("E:")] or [f"exit code {done.returncode}"]
        raise UserError(f"apt-get: {lines[0].removeprefix('E:').strip()}")


def tar_of(deb: Deb) -> bytes:
    """Return the files of a package as an uncompressed tar archive.

    Raises:
        UserError: the package is damaged, or there is no `dpkg-deb`.

    """
    _require("dpkg-deb")
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(deb.path)], capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise UserError(f"{deb.path}: cannot be unpacked: {reason[-1] if reason else ''}; delete it and run again")
    return done.stdout


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _require(tool: str) -> None:
    if shutil.which(tool) is None:
        raise UserError(f"{tool}: not found; this corpus needs the tools of a Debian or Ubuntu system")


def _advice(names: Sequence[str], cache: Path, fault: str) -> str:
    files = ", ".join(f"{name}_VERSION_all.deb" for name in names)
    return f"{', '.join(names)} cannot be had: {fault}. Copy {files} of one version to {cache} and run again"


def _natural(version: str) -> list[tuple[str, int]]:
    """Order `u9` before `u14`."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", version)]
