from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.tracking.status import status_of


def running(pid: int, host: str = "", **record: object) -> dict[str, object]:
    return {"status": "running", "pid": pid, "host": host or socket.gethostname(), **record}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ("finished", "FINISHED"),
        ("failed", "FAILED"),
        ("killed", "KILLED"),
        ("interrupted", "KILLED"),
        ("nonsense", "FAILED"),
    ],
)
def test_recorded_ends_are_mapped(recorded: str, expected: str):
    assert status_of({"status": recorded, "pid": os.getpid()}) == expected


def test_a_living_process_runs():
    assert status_of(running(os.getpid())) == "RUNNING"


def test_a_process_that_died_without_a_word_was_killed():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    assert status_of(running(process.pid)) == "KILLED"
    assert status_of(running(0)) == "KILLED"


def test_a_zombie_was_killed():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        deadline = time.time() + 20
        while Path(f"/proc/{process.pid}/stat").read_text().split()[2] != "Z" and time.time() < deadline:
            time.sleep(0.02)
        assert status_of(running(process.pid)) == "KILLED"


def test_a_process_that_got_an_old_id_is_another_one():
    born = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert status_of(running(os.getpid(), born=born)) == "RUNNING"
    assert status_of(running(os.getpid(), born="1")) == "KILLED"


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "squeue"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo RUNNING", "RUNNING"),
        ("echo PENDING", "RUNNING"),
        ("exit 0", "KILLED"),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", "KILLED"),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", "RUNNING"),
    ],
)
def test_on_another_host_the_queue_knows(squeue: Path, script: str, expected: str):
    squeue.write_text(f"#!/bin/sh\n{script}\n")
    squeue.chmod(0o755)
    assert status_of(running(1, "elsewhere", slurm_job="17")) == expected


def test_on_another_host_without_a_queue_it_is_believed(squeue: Path):
    assert not squeue.exists()
    assert status_of(running(1, "elsewhere", slurm_job="17")) == "RUNNING"
    assert status_of(running(1, "elsewhere", slurm_job="")) == "RUNNING"
