"""A run is a folder: its settings and what became of it, while one process owns it; free of torch."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import yaml

from headcount.errors import FolderInUseError, InterruptedRun
from headcount.files import TEMPORARY, atomic_write
from headcount.train import provenance
from headcount.train.owner import Owner, mapping
from headcount.train.stop import SIGNALS

log = logging.getLogger(__name__)


class RunFolder:
    """Owns `results/<study>/runs/<run>/` while its context is open; files of earlier owners' half writes are removed.

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
        self._owner = Owner(path / "owner.lock")
        self._handlers: dict[signal.Signals, Any] = {}

    @property
    def journal(self) -> Path:
        """Path of the journal."""
        return self.path / "journal.jsonl"

    @property
    def usage(self) -> Path:
        """Path of the samples of CPU, memory and GPU."""
        return self.path / "usage.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Folder of the resumable checkpoints."""
        return self.path / "checkpoints"

    def record(self, **values: Any) -> None:
        """Add values to `run.json`, such as tokens and seconds of the training."""
        self.check_owner()
        self._record.update(values)
        atomic_write(self.path / "run.json", json.dumps(self._record, indent=1, ensure_ascii=False) + "\n")

    def check_owner(self) -> None:
        """Make sure that the folder is still this process's; to be called right before something is written into it.

        Raises:
            FolderInUseError: this process was frozen and another has taken the folder over.

        """
        self._owner.check()

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        self._owner.take()
        try:
            self._begin()
        except BaseException:
            self._owner.release()
            raise
        if threading.current_thread() is threading.main_thread():  # only there may handlers be set
            self._handlers = {number: signal.signal(number, _interrupt) for number in SIGNALS}
        return self

    def _begin(self) -> None:
        for stale in self.path.glob(f".*{TEMPORARY}"):
            stale.unlink(missing_ok=True)
        before = _previous(self.path / "run.json")
        if before.get("status") == "running":
            log.warning("%s: process %s on %s ended without a word", self.path, before.get("pid"), before.get("host"))
        text = yaml.safe_dump(self._settings, sort_keys=False, allow_unicode=True)
        kept = self.path / "run.yaml"
        same = kept.exists() and kept.read_text(encoding="utf-8", errors="replace") == text
        atomic_write(kept, text)
        now = self._owner.record["started"]
        self.record(
            status="running",
            **self._owner.record,
            began=before.get("began", now) if same else now,  # of the first attempt with these settings
            attempts=int(before.get("attempts", 0)) + 1,
            git=provenance.git(Path(__file__).parents[1]),
            versions=provenance.versions(),
            hardware=provenance.hardware(),
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)  # what comes now would only spoil the last words
        ended = time.time()
        self._record.setdefault("seconds", ended - self._record["started"])
        said = {} if error is None else {"error": f"{type(error).__name__}: {error}"}
        try:
            if not isinstance(error, FolderInUseError):
                self.record(status=_status(error), ended=ended, **said)
        finally:
            self._owner.release()
            for number, handler in self._handlers.items():
                signal.signal(number, handler)


def _previous(path: Path) -> dict[str, Any]:
    return mapping(path.read_text(encoding="utf-8")) if path.exists() else {}


def _status(error: BaseException | None) -> str:
    if error is None:
        return "finished"
    if isinstance(error, InterruptedRun):
        return "interrupted"
    return "failed" if isinstance(error, Exception) else "killed"


def _interrupt(number: int, _: FrameType | None) -> None:
    raise InterruptedRun(f"stopped by {signal.Signals(number).name}; start again to go on")
