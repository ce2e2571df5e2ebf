"""A folder has one owner: the process table tells on one machine, a heartbeat across machines; there is one writer."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import FolderInUseError, UserError
from headcount.train import owner
from headcount.train.owner import Owner

WORKER = """
import sys
from pathlib import Path
from headcount.train import owner
from headcount.train.journal import Journal

folder, machine = Path(sys.argv[1]), sys.argv[2]
owner.BEAT_SECONDS = 0.05
if machine:
    owner._machine = lambda: machine
me = owner.Owner(folder / "owner.lock")
me.take()
journal = Journal(folder / "journal.jsonl", check_owner=me.check)
print("ready", flush=True)
for update in range(1_000_000):
    {work}
"""
"""A process that owns a folder and is busy in its main thread."""

WRITES = "journal.write(update=update); owner.time.sleep(0.01)"
COMPUTES = "sum(range(100_000))"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(owner, "STALE_SECONDS", 1.0)
    monkeypatch.setattr(owner, "SETTLE_SECONDS", 0.05)


@contextmanager
def worker(folder: Path, work: str, machine: str = "") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER.replace("{work}", work), str(folder), machine],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "SLURM_JOB_ID": "77"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@contextmanager
def owned(folder: Path) -> Iterator[Owner]:
    one = Owner(folder / "owner.lock")
    one.take()
    try:
        yield one
    finally:
        one.release()


def record_of(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "owner.lock").read_text(encoding="utf-8"))
    return loaded


def write_record(folder: Path, *, age: float = 0.0, **values: Any) -> Path:
    """Write the record of a process of another machine that last gave a sign of life `age` seconds ago."""
    path = folder / "owner.lock"
    record = {"pid": 4711, "host": "node7", "machine": "node7 boot", "started": 1e9, "born": "5", "slurm_job": "88"}
    path.write_text(json.dumps({**record, **values}) + "\n", encoding="utf-8")
    os.utime(path, (time.time() - age,) * 2)
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_folder_is_given_back_and_taken_again(tmp_path: Path):
    for _ in range(2):
        with owned(tmp_path) as me:
            assert record_of(tmp_path) == me.record
            me.check()
        assert (tmp_path / "owner.lock").read_bytes() == b""


def test_a_living_process_is_refused_with_all_that_is_known_of_it(tmp_path: Path):
    with worker(tmp_path, COMPUTES) as process:
        before = content(tmp_path)
        with pytest.raises(FolderInUseError) as caught, owned(tmp_path):
            pass
        assert content(tmp_path) == before
    said = str(caught.value)
    host = record_of(tmp_path)["host"]
    assert f"{tmp_path}: process {process.pid} on {host} (SLURM job 77) has been working here since 20" in said
    assert "last sign of life 0 s ago" in said
    assert "nothing was written" in said


def test_a_frozen_process_of_this_machine_is_refused_and_told_how_to_end_it(tmp_path: Path):
    with worker(tmp_path, COMPUTES) as process:
        process.send_signal(signal.SIGSTOP)
        os.utime(tmp_path / "owner.lock", (time.time() - 500,) * 2)
        with pytest.raises(FolderInUseError, match=rf"life 500 s ago; .* kill -9 {process.pid}"), owned(tmp_path):
            pass


@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_process_of_this_machine_is_followed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reaped: bool
):
    with worker(tmp_path, WRITES) as process:
        process.kill()
        if reaped:
            process.wait()
        else:
            state = Path(f"/proc/{process.pid}/stat")
            wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "Z")
        monkeypatch.setattr(owner, "STALE_SECONDS", 1e6)  # whoever waits for its heart waits for good
        with owned(tmp_path) as me:
            assert record_of(tmp_path) == me.record


def test_another_process_with_the_number_of_a_dead_one_is_not_the_owner(tmp_path: Path):
    here = Owner(tmp_path / "owner.lock").record
    write_record(tmp_path, **{**here, "pid": os.getppid(), "born": "5"})
    with owned(tmp_path) as me:
        assert record_of(tmp_path) == me.record


def test_a_heart_that_beats_on_another_machine_is_refused(tmp_path: Path):
    path = write_record(tmp_path)
    before = path.read_bytes()
    stopped = threading.Event()

    def beat() -> None:
        while not stopped.wait(0.1):
            os.utime(path)

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        with pytest.raises(FolderInUseError, match=r"process 4711 on node7 \(SLURM job 88\)"), owned(tmp_path):
            pass
    finally:
        stopped.set()
        heart.join()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_an_owner_on_another_machine_is_followed_once_its_heart_has_been_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    write_record(tmp_path)
    monkeypatch.setattr(time, "time", lambda: 1e10)  # the clock of this machine is years ahead of the file server's
    started = time.monotonic()
    with owned(tmp_path) as me:
        assert record_of(tmp_path) == me.record
    assert time.monotonic() - started > 0.5
    assert "waiting for a sign of life of process 4711 on node7 (SLURM job 88)" in caplog.text
    assert "taken over from process 4711 on node7" in caplog.text


def test_an_owner_on_another_machine_that_has_long_been_silent_is_followed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    write_record(tmp_path, age=30.0)
    monkeypatch.setattr(time, "time", lambda: 1.0)  # and here it is years behind
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited"))
    with owned(tmp_path) as me:
        assert record_of(tmp_path) == me.record
    assert "waiting" not in caplog.text
    assert "taken over from process 4711 on node7" in caplog.text


def test_only_one_of_many_that_start_at_one_moment_becomes_the_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    look = Owner._wait_for_silence

    def look_and_dawdle(self: Owner) -> None:
        look(self)
        time.sleep(0.1)

    monkeypatch.setattr(Owner, "_wait_for_silence", look_and_dawdle)
    forks = multiprocessing.get_context("fork")
    (tmp_path / "owner.lock").write_text(json.dumps({"machine": owner._machine(), "pid": 1 << 30, "born": "5"}))
    barrier, end, outcomes = forks.Barrier(6), forks.Event(), forks.Queue()

    def start() -> None:
        one = Owner(tmp_path / "owner.lock")
        barrier.wait()
        try:
            one.take()
        except FolderInUseError:
            outcomes.put("refused")
        else:
            outcomes.put("owner")
            end.wait(30)
        outcomes.close()
        outcomes.join_thread()

    processes = [forks.Process(target=start) for _ in range(6)]
    for process in processes:
        process.start()
    assert sorted(outcomes.get(timeout=30) for _ in processes) == ["owner", *["refused"] * 5]
    end.set()
    for process in processes:
        process.join()


def test_without_file_locks_the_later_of_two_that_start_at_one_moment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr("headcount.train.owner.time.sleep", lambda _: write_record(tmp_path))
    with pytest.raises(FolderInUseError, match="taken over by process 4711 on node7"), owned(tmp_path):
        pass
    assert record_of(tmp_path)["pid"] == 4711


@pytest.mark.parametrize("work", [COMPUTES, "owner.time.sleep(30)", "open('/dev/null', 'wb').write(bytes(10**8))"])
def test_the_heart_beats_while_the_process_works_and_no_longer(tmp_path: Path, work: str):
    path = tmp_path / "owner.lock"
    with worker(tmp_path, work) as process:
        for _ in range(3):
            before = path.stat().st_mtime_ns
            wait_until(lambda before=before: path.stat().st_mtime_ns > before)
        process.kill()
        process.wait()
    before = path.stat().st_mtime_ns
    time.sleep(0.3)
    assert path.stat().st_mtime_ns == before


def test_a_frozen_owner_that_wakes_up_after_it_was_replaced_writes_nothing(tmp_path: Path):
    with worker(tmp_path, WRITES, machine="elsewhere") as process:
        wait_until(lambda: (tmp_path / "journal.jsonl").exists())
        process.send_signal(signal.SIGSTOP)
        with owned(tmp_path) as me:
            before = content(tmp_path)
            process.send_signal(signal.SIGCONT)
            process.wait(timeout=30)
            assert content(tmp_path) == before
            assert record_of(tmp_path) == me.record
            me.check()
        assert process.stderr is not None
        assert f"taken over by process {os.getpid()} on" in process.stderr.read()


def test_the_heart_of_a_replaced_owner_does_not_beat_for_the_other(tmp_path: Path):
    with owned(tmp_path) as me:
        path = write_record(tmp_path, age=100.0)
        me._heart.join(timeout=10)
        assert not me._heart.is_alive()
        assert path.stat().st_mtime < time.time() - 50
        with pytest.raises(FolderInUseError):
            me.check()
    assert record_of(tmp_path)["pid"] == 4711  # and is not given back by it


def test_a_deleted_record_stops_its_owner(tmp_path: Path):
    with owned(tmp_path) as me:
        (tmp_path / "owner.lock").unlink()
        with pytest.raises(FolderInUseError, match="no longer names an owner"):
            me.check()
    assert content(tmp_path) == {}


def test_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(UserError, match=r"owner\.lock: cannot be written: No space left on device"), owned(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00\x00"])
def test_a_record_that_cannot_be_read_is_no_owner(tmp_path: Path, text: str):
    (tmp_path / "owner.lock").write_text(text)
    with owned(tmp_path) as me:
        assert record_of(tmp_path) == me.record
