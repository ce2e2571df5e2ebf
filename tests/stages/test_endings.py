"""How a training ends other than well: with a status of its own, nothing lost, and the same command goes on."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from killable import LimitFiles, Linger, finish, results, start

from headcount.config import Study
from headcount.plan import Run, runs
from headcount.stages.overview import say_failed
from headcount.train.checkpoint import read
from headcount.train.journal import read as read_journal


@pytest.fixture(scope="module")
def run(tiny: Study) -> Run:
    return runs(tiny)["baseline-s1"]


@pytest.fixture(scope="module")
def undisturbed(run: Run, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(run, data, folder)
    return folder / run.run


@contextlib.contextmanager
def lingering(run: Run, data: Path, folder: Path, step: str = "forward") -> Iterator[BaseProcess]:
    """A training that has come to a step which takes seconds."""
    begun = folder / f"in-{step}"
    process = start(run, data, folder, first=Linger(step, begun))
    try:
        until = time.monotonic() + 60
        while not begun.exists():
            assert process.is_alive()
            assert time.monotonic() < until
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.join()


def record_of(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return loaded


def updates_saved(folder: Path) -> list[int]:
    return sorted(read(path)["update"] for path in (folder / "checkpoints").glob("*.pt"))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def signal_group(process: BaseProcess, number: signal.Signals) -> None:
    assert process.pid is not None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


@pytest.mark.parametrize(("step", "saved"), [("forward", [5, 8]), ("save", [5]), ("validation", [10, 15, 20])])
def test_signals_to_the_whole_group_leave_a_checkpoint_of_the_current_update(
    run: Run, data: Path, undisturbed: Path, tmp_path: Path, step: str, saved: list[int]
):
    with lingering(run, data, tmp_path, step) as process:
        signal_group(process, signal.SIGUSR1)
        process.join(1)
        signal_group(process, signal.SIGTERM)
        process.join(30)  # the lingering validation would take twice as long
        assert process.exitcode == 75
    assert record_of(tmp_path / run.run)["status"] == "interrupted"
    assert updates_saved(tmp_path / run.run) == saved
    journal = tmp_path / run.run / "journal.jsonl"
    assert all("loss" in line for line in (read_journal(journal) if journal.exists() else []))  # no half validation
    finish(run, data, tmp_path)
    assert results(tmp_path / run.run) == results(undisturbed)


def test_a_second_trainer_is_refused_with_a_status_of_its_own_and_changes_no_byte(run: Run, data: Path, tmp_path: Path):
    with lingering(run, data, tmp_path) as process:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)  # so that it writes nothing either
        before = content(tmp_path)
        second = start(run, data, tmp_path)
        second.join(60)
        assert second.exitcode == 4
        assert content(tmp_path) == before


def test_a_trainer_that_lost_its_folder_stops_before_it_writes(run: Run, data: Path, tmp_path: Path):
    with lingering(run, data, tmp_path) as process:
        lock = tmp_path / run.run / "owner.lock"
        other = {**json.loads(lock.read_text()), "host": "node7", "machine": "node7 boot"}
        lock.write_text(json.dumps(other) + "\n")
        before = content(tmp_path)
        process.join(60)
        assert process.exitcode == 4
    after = {path: found for path, found in content(tmp_path).items() if not path.endswith("usage.jsonl")}
    assert after == {path: found for path, found in before.items() if not path.endswith("usage.jsonl")}
    assert record_of(tmp_path / run.run)["status"] == "running"  # the other's to say


def test_a_diverging_run_has_a_status_of_its_own_and_saves_nothing_that_is_not_finite(
    run: Run, data: Path, tmp_path: Path
):
    diverging = {**run.settings["training"], "learning_rate": 1e30, "skipped_updates": 2}
    process = start(dataclasses.replace(run, settings={**run.settings, "training": diverging}), data, tmp_path)
    process.join(60)
    assert process.exitcode == 3
    assert record_of(tmp_path / run.run)["status"] == "failed"
    for path in (tmp_path / run.run / "checkpoints").glob("*.pt"):
        assert all(torch.isfinite(value).all() for value in read(path)["model"].values())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "headcount", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_disk_that_fills_up_costs_nothing_that_was_saved(run: Run, data: Path, undisturbed: Path, small_disk: Path):
    with lingering(run, data, small_disk) as process:
        ballast = small_disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as handle:
            while handle.write(bytes(4096)):
                pass
        process.join(60)
        assert process.exitcode == 2
    assert updates_saved(small_disk / run.run) == [5]
    assert not list(small_disk.rglob("*.partial"))
    ballast.unlink()
    finish(run, data, small_disk)
    assert results(small_disk / run.run) == results(undisturbed)


def test_a_limit_of_the_file_size_costs_nothing_that_was_saved(run: Run, data: Path, undisturbed: Path, tmp_path: Path):
    process = start(run, data, tmp_path, first=LimitFiles(200_000))  # less than a checkpoint with averages
    process.join(60)
    assert process.exitcode == 2
    assert updates_saved(tmp_path / run.run) == [10, 25, 30]
    assert not list(tmp_path.rglob("*.partial"))
    finish(run, data, tmp_path)
    assert results(tmp_path / run.run) == results(undisturbed)


def test_runs_that_did_not_finish_are_listed_with_the_way_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    statuses = {"a": "finished", "b": "failed", "c": "interrupted", "d": "running"}
    for name, status in statuses.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text(json.dumps({"status": status}))
    say_failed(tmp_path)
    lines = capsys.readouterr().err.replace("\n", " ")
    assert [name for name in statuses if f"{name}: " in lines] == ["b", "c", "d"]
    assert "d: killed without a word, or still at work" in lines
    assert "the same command goes on" in lines
