from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.tracking.status import LOST_SECONDS, status_of
from headcount.train.owner import STALE_SECONDS


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
    assert status_of({"status": recorded, "pid": os.getpid()}, 0.0) == expected


def test_a_living_process_runs():
    assert status_of(running(os.getpid()), 0.0) == "RUNNING"


def test_a_process_that_died_without_a_word_was_killed():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    assert status_of(running(process.pid), 0.0) == "KILLED"
    assert status_of(running(0), 0.0) == "KILLED"


def test_a_zombie_was_killed():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        deadline = time.time() + 20
        while Path(f"/proc/{process.pid}/stat").read_text().split()[2] != "Z" and time.time() < deadline:
            time.sleep(0.02)
        assert status_of(running(process.pid), 0.0) == "KILLED"


def test_a_process_that_got_an_old_id_is_another_one():
    born = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert status_of(running(os.getpid(), born=born), 0.0) == "RUNNING"
    assert status_of(running(os.getpid(), born="1"), 0.0) == "KILLED"


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "squeue"


UNKNOWN = "echo 'Unable to contact slurm controller' >&2; exit 1"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo RUNNING", "RUNNING"),
        ("echo PENDING", "KILLED"),
        ("exit 0", "KILLED"),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", "KILLED"),
        (UNKNOWN, "RUNNING"),
    ],
)
def test_on_another_host_the_queue_knows(squeue: Path, script: str, expected: str):
    squeue.write_text(f"#!/bin/sh\n{script}\n")
    squeue.chmod(0o755)
    assert status_of(running(1, "elsewhere", slurm_job="17"), STALE_SECONDS + 1) == expected


def test_the_queue_is_not_asked_about_a_run_that_gives_signs_of_life(squeue: Path):
    squeue.write_text(f"#!/bin/sh\necho asked >> {squeue}.log\n")
    squeue.chmod(0o755)
    assert status_of(running(1, "elsewhere", slurm_job="17"), STALE_SECONDS - 1) == "RUNNING"
    assert not squeue.with_suffix(".log").exists()


@pytest.mark.parametrize("queue", [False, True], ids=["no queue", "a queue that cannot be asked"])
def test_on_another_host_a_long_silence_means_death(squeue: Path, queue: bool):
    if queue:
        squeue.write_text(f"#!/bin/sh\n{UNKNOWN}\n")
        squeue.chmod(0o755)
    elsewhere = running(1, "elsewhere", slurm_job="17" if queue else "")
    assert status_of(elsewhere, LOST_SECONDS - 1) == "RUNNING"
    assert status_of(elsewhere, LOST_SECONDS + 1) == "KILLED"
