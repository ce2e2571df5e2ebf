from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from headcount.errors import FolderInUseError, InterruptedRun, UserError
from headcount.train.runfolder import RunFolder

SETTINGS = {"run": "baseline-s1", "seed": 1, "setting": "λ=0.01", "training": {"updates": 5}}

OWNER = """
import sys, time
from pathlib import Path
from headcount.train.runfolder import RunFolder
with RunFolder(Path(sys.argv[1]), {}):
    print("ready", flush=True)
    time.sleep(60)
"""


def _record(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return loaded


@contextmanager
def _owner(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process at work in the folder."""
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_run_from_start_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    with RunFolder(tmp_path / "run", SETTINGS) as folder:
        during = _record(folder.path)
        assert (during["status"], during["pid"], during["slurm_job"]) == ("running", os.getpid(), "77")
        assert "ended" not in during
        folder.record(tokens=123, seconds=4.5)
        assert (folder.journal.parent, folder.checkpoints.parent) == (folder.path, folder.path)
    after = _record(folder.path)
    assert (after["status"], after["tokens"], after["seconds"], after["attempts"]) == ("finished", 123, 4.5, 1)
    assert after["ended"] >= after["started"] > time.time() - 60
    assert after["versions"]["torch"]
    assert after["hardware"]["cpu"]
    assert set(after["git"]) == {"commit", "dirty"}
    assert yaml.safe_load((folder.path / "run.yaml").read_text(encoding="utf-8")) == SETTINGS


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("broken"), "failed"),
        (UserError("disk is full"), "failed"),
        (InterruptedRun("stopped by SIGTERM"), "interrupted"),
        (KeyboardInterrupt(), "killed"),
        (SystemExit(3), "killed"),
    ],
)
def test_every_other_end_is_recorded(tmp_path: Path, error: BaseException, status: str):
    with pytest.raises(type(error)), RunFolder(tmp_path, SETTINGS):
        raise error
    record = _record(tmp_path)
    assert record["status"] == status
    assert str(error) in record["error"]
    assert record["ended"]
    with RunFolder(tmp_path, SETTINGS):  # the lock was given back
        assert _record(tmp_path)["attempts"] == 2
        assert "error" not in _record(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_outside_of_the_loop_interrupts(tmp_path: Path, number: signal.Signals):
    before = signal.getsignal(number)
    with pytest.raises(InterruptedRun, match=number.name), RunFolder(tmp_path, SETTINGS):
        signal.raise_signal(number)
    assert _record(tmp_path)["status"] == "interrupted"
    assert signal.getsignal(number) is before


def test_a_live_owner_is_refused_and_nothing_is_written(tmp_path: Path):
    with _owner(tmp_path) as process:
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        message = f"process {process.pid} on .* has been working here since 20"
        with pytest.raises(UserError, match=message), RunFolder(tmp_path, SETTINGS):
            pass
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_killed_owner_stays_running_and_is_taken_over(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with _owner(tmp_path) as process:
        process.kill()
        process.wait()
        left = _record(tmp_path)
        assert (left["status"], left["pid"]) == ("running", process.pid)
        with pytest.raises(ProcessLookupError):
            os.kill(left["pid"], 0)
        with RunFolder(tmp_path, SETTINGS):
            assert _record(tmp_path)["attempts"] == 2
    assert f"process {process.pid} on" in caplog.text
    assert _record(tmp_path)["status"] == "finished"


def test_a_terminated_owner_says_so(tmp_path: Path):
    with _owner(tmp_path) as process:
        process.terminate()
        process.wait(timeout=20)
    assert _record(tmp_path)["status"] == "interrupted"


def test_without_file_locks_the_named_process_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with _owner(tmp_path) as process:

        def no_locks(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "flock", no_locks)
        with pytest.raises(UserError, match=f"process {process.pid}"), RunFolder(tmp_path, SETTINGS):
            pass
        process.kill()
        process.wait()
        with RunFolder(tmp_path, SETTINGS):
            pass
    assert _record(tmp_path)["status"] == "finished"


def test_a_folder_that_another_took_over_is_left_as_it_is(tmp_path: Path):
    before = {}

    def work() -> None:
        with RunFolder(tmp_path, {}) as folder:
            (tmp_path / "owner.lock").write_text('{"pid": 4711, "host": "node7"}\n', encoding="utf-8")
            before.update({path.name: path.read_bytes() for path in tmp_path.iterdir()})
            folder.record(tokens=5)

    with pytest.raises(FolderInUseError, match="taken over by process 4711 on node7"):
        work()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "owner.lock").write_text("", encoding="utf-8")
    with RunFolder(tmp_path, {}):  # and this process is not at work in it any more
        assert _record(tmp_path)["attempts"] == 2


def test_rests_of_half_writes_are_removed_by_the_next_owner_only(tmp_path: Path):
    with _owner(tmp_path):
        half = tmp_path / ".model.safetensors.123.partial"
        half.write_bytes(b"half")
        with pytest.raises(FolderInUseError), RunFolder(tmp_path, SETTINGS):
            pass
        assert half.exists()
    with RunFolder(tmp_path, SETTINGS):
        assert not half.exists()


def test_a_start_that_fails_gives_the_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise UserError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("headcount.train.runfolder.atomic_write", full)
        with pytest.raises(UserError, match="no space left"), RunFolder(tmp_path, SETTINGS):
            pass
    with RunFolder(tmp_path, SETTINGS):
        assert _record(tmp_path)["attempts"] == 1


def test_a_damaged_record_is_no_obstacle(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "run.json").write_text('{"status": "runn', encoding="utf-8")
    with caplog.at_level(logging.WARNING), RunFolder(tmp_path, SETTINGS):
        pass
    assert _record(tmp_path)["attempts"] == 1
