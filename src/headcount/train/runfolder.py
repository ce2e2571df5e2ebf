"""A run is a folder: its settings, what became of it, and one owner at a time; free of torch."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

import yaml

from headcount.errors import InterruptedRun, UserError
from headcount.files import atomic_write
from headcount.train import provenance
from headcount.train.stop import SIGNALS

log = logging.getLogger(__name__)


class RunFolder:
    """Owns `results/<study>/runs/<run>/` while its context is open.

    Writes `run.yaml` (the complete settings) and `run.json` (status, process, times, code, machine). The status is
    `running` until the context ends: `finished`, `failed` by an exception, `interrupted` by TERM or USR1, `killed` by
    Ctrl-C. A process that was killed without a word leaves `running` with a process id that no longer lives.

    Args:
        path: created when needed.
        settings: complete settings of the run.

    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._settings = dict(settings)
        self._record: dict[str, Any] = {}
        self._lock: IO[str] | None = None
        self._handlers: dict[signal.Signals, Any] = {}

    @property
    def journal(self) -> Path:
        """Path of the journal."""
        return self.path / "journal.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Folder of the resumable checkpoints."""
        return self.path / "checkpoints"

    def record(self, **values: Any) -> None:
        """Add values to `run.json`, such as tokens and seconds of the training."""
        self._record.update(values)
        atomic_write(self.path / "run.json", json.dumps(self._record, indent=1, ensure_ascii=False) + "\n")

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "started": time.time(), "born": _born(os.getpid())}
        self._lock = _take(self.path / "owner.lock", owner)
        before = _previous(self.path / "run.json")
        if before.get("status") == "running":
            log.warning("%s: process %s on %s ended without a word", self.path, before.get("pid"), before.get("host"))
        text = yaml.safe_dump(self._settings, sort_keys=False, allow_unicode=True)
        atomic_write(self.path / "run.yaml", text)
        self.record(
            status="running",
            **owner,
            attempts=int(before.get("attempts", 0)) + 1,
            slurm_job=os.environ.get("SLURM_JOB_ID", ""),
            git=provenance.git(Path(__file__).parents[1]),
            versions=provenance.versions(),
            hardware=provenance.hardware(),
        )
        if threading.current_thread() is threading.main_thread():  # only there may handlers be set
            self._handlers = {number: signal.signal(number, _interrupt) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)  # what comes now would only spoil the last words
        ended = time.time()
        self._record.setdefault("seconds", ended - self._record["started"])
        said = {} if error is None else {"error": f"{type(error).__name__}: {error}"}
        try:
            self.record(status=_status(error), ended=ended, **said)
        finally:
            assert self._lock is not None
            self._lock.truncate(0)
            self._lock.close()
            for number, handler in self._handlers.items():
                signal.signal(number, handler)


def _take(path: Path, owner: Mapping[str, Any]) -> IO[str]:
    """Lock a file and write the owner into it; the kernel gives the lock back when the process ends, however it ends.

    On a file system without locks the process that the file names decides; of another host's nothing can be known,
    it is taken over.

    Raises:
        UserError: another process is at work.

    """
    handle = path.open("a+", encoding="utf-8")
    handle.seek(0)
    holder = _mapping(handle.read())
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken = False
    except BlockingIOError:
        taken = True
    except OSError:
        taken = holder.get("host") == owner["host"] and holder.get("born", "") == _born(holder.get("pid"))
    if taken:
        handle.close()
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.get("started", 0)))
        raise UserError(
            f"{path.parent}: process {holder.get('pid', '?')} on {holder.get('host', '?')} has been working here "
            f"since {since}; wait for it or end it, nothing was written"
        )
    handle.truncate(0)
    handle.write(json.dumps(owner) + "\n")
    handle.flush()
    return handle


def _born(pid: Any) -> str:
    """Return when a process began, in the kernel's ticks; with the id it names a process for good. "-": none such."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return "-"


def _previous(path: Path) -> dict[str, Any]:
    return _mapping(path.read_text(encoding="utf-8")) if path.exists() else {}


def _mapping(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _status(error: BaseException | None) -> str:
    if error is None:
        return "finished"
    if isinstance(error, InterruptedRun):
        return "interrupted"
    return "failed" if isinstance(error, Exception) else "killed"


def _interrupt(number: int, _: FrameType | None) -> None:
    raise InterruptedRun(f"stopped by {signal.Signals(number).name}; start again to go on")
