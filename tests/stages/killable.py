"""The verb `train` in a forked process that a test kills, or that does something else at a chosen point."""

from __future__ import annotations

import fnmatch
import io
import json
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from headcount.plan import Run
from headcount.train import checkpoint
from headcount.train.journal import read

# A server that imports PyTorch once and forks, so that a start takes a fraction of a second.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["headcount.__main__", "headcount.stages.train", "sacrebleu", __name__])


def start(
    run: Run, data: Path, folder: Path, *, every_updates: int = 5, first: Callable[[], None] | None = None
) -> BaseProcess:
    """Start the training of a run below `folder`, in a process group of its own; it calls `first` before."""
    arguments = ["train", "--settings", run.canonical, "--code", "code", "--data", str(data)]
    arguments += ["--out", str(folder / run.run), *(str(folder / parent) for parent in run.parents)]
    process = PROCESSES.Process(target=_verb, args=(arguments, every_updates, first))
    process.start()
    return process


def _verb(arguments: list[str], every_updates: int, first: Callable[[], None] | None) -> None:
    from headcount.__main__ import main

    torch.set_num_threads(1)
    os.setsid()
    os.environ["HEADCOUNT_CHECKPOINTS"] = json.dumps({"every_updates": every_updates})
    if first is not None:
        first()
    main(arguments)


def finish(run: Run, data: Path, folder: Path) -> float:
    """Train to the end and return the seconds that took."""
    started = time.monotonic()
    process = start(run, data, folder)
    process.join(60)
    assert process.exitcode == 0
    assert json.loads((folder / run.run / "run.json").read_text())["status"] == "finished"
    assert not list((folder / run.run).rglob("*.partial"))
    return time.monotonic() - started


def results(folder: Path) -> dict[str, Any]:
    """What a run leaves: every file but its own history, all without clocks."""
    history = {"run.json", "owner.lock", "usage.jsonl", "journal.jsonl"}
    files: dict[str, Any] = {
        path.name: _without_clock(path) if path.suffix == ".pt" else path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name not in history
    }
    files["journal"] = [
        {key: value for key, value in line.items() if "second" not in key} for line in read(folder / "journal.jsonl")
    ]
    return files


def _without_clock(path: Path) -> bytes:
    content = io.BytesIO()
    torch.save({**checkpoint.read(path), "seconds": 0.0, "cpu_seconds": 0.0}, content)
    return content.getvalue()


@dataclass(frozen=True)
class DieAt:
    """Kills its process at a call on a file, the how-manieth, before or after it has taken effect."""

    call: str
    file: str
    after: bool = False
    number: int = 1

    def __call__(self) -> None:
        if self.call == "append":
            self._in_the_middle_of_a_line()
        else:
            self._around(getattr(Path, self.call))

    def _in_the_middle_of_a_line(self) -> None:
        bring_to_disk = os.fsync

        def half(handle: int) -> None:
            if self._reached(Path(f"/proc/self/fd/{handle}").readlink()):
                os.ftruncate(handle, os.fstat(handle).st_size - 20)
                _kill()
            bring_to_disk(handle)

        os.fsync = half

    def _around(self, original: Callable[..., Any]) -> None:
        def wrapped(path: Path, *rest: Any, **options: Any) -> Any:
            hit = self._reached(Path(rest[0]) if self.call == "replace" else path)
            if hit and not self.after:
                _kill()
            result = original(path, *rest, **options)
            if hit:
                _kill()
            return result

        setattr(Path, self.call, wrapped)

    def _reached(self, path: Path) -> bool:
        if not fnmatch.fnmatch(path.name, self.file):
            return False
        seen.append(path)
        return len(seen) == self.number


seen: list[Path] = []
"""Calls that `DieAt` waits for, in this process."""


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Linger:
    """Makes one step of the training long, and touches a file when it begins."""

    step: str
    begun: Path

    def __call__(self) -> None:
        place, name, number = {
            "forward": ("headcount.train.loop", "batch_loss", 8),
            "save": ("torch", "save", 1),
            "validation": ("headcount.stages.train", "validate", 1),
        }[self.step]
        module = __import__(place, fromlist=[name])
        original = getattr(module, name)
        calls = []

        def slow(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            if len(calls) != number:
                return original(*arguments, **options)
            self.begun.touch()
            if self.step == "save":
                return _save_slowly(original, *arguments)
            for _ in range(1200 if self.step == "validation" else 60):
                time.sleep(0.05)
            return original(*arguments, **options)

        setattr(module, name, slow)


def _save_slowly(save: Callable[..., None], state: object, handle: io.BufferedWriter) -> None:
    whole = io.BytesIO()
    save(state, whole)
    content = whole.getvalue()
    for part in range(0, len(content), len(content) // 60):
        handle.write(content[part : part + len(content) // 60])
        handle.flush()
        time.sleep(0.05)


@dataclass(frozen=True)
class LimitFiles:
    """Lets no file grow beyond some bytes."""

    size: int

    def __call__(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, resource.RLIM_INFINITY))
