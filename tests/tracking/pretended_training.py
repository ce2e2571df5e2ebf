"""A process that owns a run folder and writes its journal as a training does, and ends as it is told; free of torch."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from headcount.train.journal import Journal
from headcount.train.runfolder import RunFolder

ENDS = {
    "alone": "FINISHED",
    "error": "FAILED",
    "TERM": "KILLED",
    "USR1": "KILLED",
    "INT": "KILLED",
    "KILL": "KILLED",
}
"""How a training can end -> what MLflow should say."""


def start(folder: Path, settings: dict[str, Any], first: int, last: int, end: str) -> subprocess.Popen[str]:
    """Start a training that goes on from the checkpoint of update `first` and waits for its end after `last`."""
    task = [str(folder), settings, first, last, end]
    return subprocess.Popen(
        [sys.executable, __file__, json.dumps(task)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def wait_for_updates(training: subprocess.Popen[str]) -> None:
    """Return when all updates are in the journal; the process still runs."""
    assert training.stdout is not None
    assert training.stdout.readline() == "trained\n"


def let_end(training: subprocess.Popen[str], end: str) -> int:
    """Let a training that has made its updates end in the way it was started for."""
    if end in ("alone", "error"):
        training.communicate("\n", timeout=60)
    else:
        training.send_signal(getattr(signal, f"SIG{end}"))
        training.communicate(timeout=60)
    return training.returncode


def _main(folder: str, settings: dict[str, Any], first: int, last: int, end: str) -> None:
    with RunFolder(Path(folder), settings) as run:
        journal = Journal(run.journal)
        journal.rewind(first)
        began = time.monotonic()
        for update in range(first + 20, last + 1, 20):
            journal.write(update=update, seconds=first / 10 + time.monotonic() - began, loss=8 / update)
            time.sleep(0.02)
        print("trained", flush=True)  # noqa: T201
        sys.stdin.readline()
        if end == "error":
            raise ValueError("the loss is not finite")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has children ignore it
    _main(*json.loads(sys.argv[1]))
