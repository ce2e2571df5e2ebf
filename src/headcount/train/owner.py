"""One owner of a folder at a time, on any file system and across machines: a record with a heartbeat; free of torch.

On one machine the process table tells whether the owner lives. Of another machine's process only its heartbeat is seen:
a thread renews the record's time of change, and that is compared with the time the same file server gives to a new
file, so that clocks need not agree. An owner that was frozen for so long that another took its place finds the other's
record when it wakes up, before it writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headcount.errors import FolderInUseError, UserError
from headcount.processes import born

log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
"""Distance of two heartbeats."""

STALE_SECONDS = 60.0
"""An owner on another machine that gave no sign of life for so long has lost its folder."""

SETTLE_SECONDS = 2.0
"""After this time another who started at the same moment is seen, where the file system has no locks."""


class Owner:
    """Makes this process the owner of a folder, from `take` to `release`.

    Args:
        path: of the record; stays behind, empty, when the folder is given back.

    """

    def __init__(self, path: Path) -> None:
        self.record: dict[str, Any] = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started": time.time(),
            "born": born(os.getpid()),
            "machine": _machine(),
            "slurm_job": os.environ.get("SLURM_JOB_ID", ""),
        }
        self._path = path
        self._released = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def take(self) -> None:
        """Become the owner; of an owner that may be dead, wait for a heartbeat before it is replaced.

        Raises:
            FolderInUseError: another process is at work; nothing was written.
            UserError: the record cannot be written, for instance since the disk is full.

        """
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            with os.fdopen(handle):
                alone = self._take(handle)
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written: {error.strerror}") from None
        if not alone:
            time.sleep(SETTLE_SECONDS)
            self.check()
        self._heart.start()

    def _take(self, handle: int) -> bool:
        with _turn(handle, self._path) as alone:
            self._wait_for_silence()
            content = (json.dumps(self.record) + "\n").encode()
            os.pwrite(handle, content, 0)  # in place and in one go: nobody sees an empty record in between
            os.ftruncate(handle, len(content))
            os.fsync(handle)
        return alone

    def check(self) -> None:
        """Make sure that the folder is still this process's; to be called right before something is written.

        Raises:
            FolderInUseError: another process has taken it over.

        """
        holder, _ = _read(self._path)
        if holder != self.record:
            happened = f"taken over by {_named(holder)}" if holder else f"{self._path.name} no longer names an owner"
            raise FolderInUseError(
                f"{self._path.parent}: {happened} while {_named(self.record)} was at work or frozen; it stopped and "
                "wrote nothing more"
            )

    def release(self) -> None:
        """Give the folder back, if it is still this process's."""
        self._released.set()
        with contextlib.suppress(OSError):
            if _read(self._path)[0] == self.record:
                os.truncate(self._path, 0)

    def _beat(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):  # a file server that is away for a moment
                if _read(self._path)[0] != self.record:
                    return
                os.utime(self._path)

    def _wait_for_silence(self) -> None:
        """Return when the folder has no owner that lives."""
        holder, beat = _read(self._path)
        if not holder:
            return
        age = max(_server_time(self._path.parent) - beat, 0.0)
        if holder.get("machine") == self.record["machine"]:
            if holder.get("born") == born(holder.get("pid")):
                raise _in_use(self._path.parent, holder, age)
            return
        if age < STALE_SECONDS:
            log.warning("%s: waiting for a sign of life of %s", self._path.parent, _named(holder))
        until = time.monotonic() + STALE_SECONDS - age
        while time.monotonic() < until:
            time.sleep(BEAT_SECONDS / 10)
            seen = _read(self._path)
            if not seen[0]:
                return
            if seen != (holder, beat):
                raise _in_use(self._path.parent, seen[0], 0.0)
        log.warning("%s: taken over from %s, which gave no sign of life", self._path.parent, _named(holder))


@contextlib.contextmanager
def _turn(handle: int, path: Path) -> Iterator[bool]:
    """Let those who start at one moment look and write one after the other; False: the file system cannot do that."""
    until = time.monotonic() + STALE_SECONDS + BEAT_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise FolderInUseError(f"{path.parent}: another process is just starting here") from None
            time.sleep(BEAT_SECONDS / 100)
        except OSError:
            yield False
            return
        else:
            yield True
            fcntl.flock(handle, fcntl.LOCK_UN)
            return


def _read(path: Path) -> tuple[dict[str, Any], float]:
    """Return the record, empty if there is none, and when it last changed; opened anew, since that asks the server."""
    try:
        with path.open(encoding="utf-8", errors="replace") as handle:
            line, changed = handle.readline(), os.fstat(handle.fileno()).st_mtime
    except FileNotFoundError:
        return {}, 0.0
    return mapping(line), changed


def mapping(text: str) -> dict[str, Any]:
    """Return the JSON object of a record; empty if the text is none, for instance since it was cut off."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _server_time(folder: Path) -> float:
    """Return the time of the machine that keeps the folder."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        return os.fstat(probe.fileno()).st_mtime


def _machine() -> str:
    """Name the place in which process ids are unique: a boot of a machine, and the container."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _in_use(folder: Path, holder: Mapping[str, Any], age: float) -> FolderInUseError:
    pid = holder.get("pid", "?")
    wait = "wait for it or end it"
    if age > STALE_SECONDS:
        wait = f"it exists, but hangs or is suspended; end it with kill -9 {pid} if it does not come back"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.get("started", 0)))
    return FolderInUseError(
        f"{folder}: {_named(holder)} has been working here since {since}, last sign of life {age:.0f} s ago; "
        f"{wait}; nothing was written"
    )


def _named(holder: Mapping[str, Any]) -> str:
    job = f" (SLURM job {holder['slurm_job']})" if holder.get("slurm_job") else ""
    return f"process {holder.get('pid', '?')} on {holder.get('host', '?')}{job}"
