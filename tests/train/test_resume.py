"""A run that is stopped anywhere, in any way, and started again ends with the bytes of one that never stopped."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_training import (
    At,
    Ends,
    checkpoints,
    kill,
    run,
    terminate,
    train_and_die,
    train_and_die_saving,
    train_and_end_validating,
    train_slowly,
    weights,
)

from headcount.errors import InterruptedRun
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.hooks import NoHook
from headcount.train.journal import read

# A server that imports torch once and forks; a plain fork of a process that used a GPU could not train.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["headcount.train.loop", "headcount.model.transformer", "safetensors.torch"])


def _in_a_process(target: Any, *arguments: Any) -> int | None:
    process = PROCESSES.Process(target=target, args=arguments)
    process.start()
    process.join(timeout=60)
    return process.exitcode


def _send(number: signal.Signals, folder: Path) -> dict[str, Any]:
    """Train in another process, send it a signal after some of its updates, and return what its `run.json` says."""
    before = list(folder.glob("checkpoints/update-*.pt"))
    process = PROCESSES.Process(target=train_slowly, args=(folder,))
    process.start()
    assert process.pid is not None
    deadline = time.monotonic() + 60
    while list(folder.glob("checkpoints/update-*.pt")) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.uniform(0.0, 0.06))
    os.kill(process.pid, number)
    process.join(timeout=60)
    record: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["pid"] == process.pid
    return record


def _journal(folder: Path) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in line.items() if "second" not in key} for line in read(folder / "journal.jsonl")
    ]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("whole")
    model, _ = run(folder)
    return weights(model), _journal(folder)


def test_killed_at_random_updates(tmp_path: Path, uninterrupted: tuple[bytes, list[dict[str, Any]]]):
    # Checkpoints are 8 updates apart, so every start gets beyond the next one.
    for update in sorted(random.sample(range(2, 31), 3)):
        assert _in_a_process(train_and_die, tmp_path, update) == -signal.SIGKILL
    assert _in_a_process(train_and_die, tmp_path, 0) == 0
    assert (tmp_path / "weights").read_bytes() == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


def test_killed_at_any_moment(tmp_path: Path, uninterrupted: tuple[bytes, list[dict[str, Any]]]):
    for _ in range(2):
        record = _send(signal.SIGKILL, tmp_path)
        assert record["status"] == "running"
        with pytest.raises(ProcessLookupError):
            os.kill(record["pid"], 0)
    model, _ = run(tmp_path)
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_asked_to_stop_at_any_moment(
    tmp_path: Path, number: signal.Signals, uninterrupted: tuple[bytes, list[dict[str, Any]]]
):
    record = _send(number, tmp_path)
    assert record["status"] == "interrupted"
    assert f"stopped by {number.name}" in record["error"]
    model, _ = run(tmp_path)
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


def test_killed_in_the_middle_of_a_save(tmp_path: Path, uninterrupted: tuple[bytes, list[dict[str, Any]]]):
    assert _in_a_process(train_and_die_saving, tmp_path, 2) == -signal.SIGKILL
    left = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert len(left) == 2
    assert left[0].endswith(".partial")
    assert left[1] == "update-000008.pt"
    model, _ = run(tmp_path)
    assert not list((tmp_path / "checkpoints").glob("*.partial"))
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_becomes_a_checkpoint(
    tmp_path: Path, number: signal.Signals, uninterrupted: tuple[bytes, list[dict[str, Any]]]
):
    before = signal.getsignal(number)
    stops = (5, 13, 23)
    for update in stops:
        with pytest.raises(InterruptedRun, match=f"{number.name} after update {update};"):
            run(tmp_path, hooks=(At(update, lambda: signal.raise_signal(number)),))
        assert checkpoints(tmp_path).newest().endswith(f"{update:06d}.pt")
    assert signal.getsignal(number) is before
    model, _ = run(tmp_path)
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


def test_signals_during_validation_and_again_during_the_save_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: tuple[bytes, list[dict[str, Any]]]
):
    save = Checkpoints.save

    def save_under_fire(self: Checkpoints, state: Any) -> None:
        signal.raise_signal(signal.SIGUSR1)
        save(self, state)
        signal.raise_signal(signal.SIGTERM)

    def validate(model: Any) -> dict[str, float]:
        terminate()
        return {"valid/loss": float(model.output_weight.detach().abs().sum())}

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save", save_under_fire)
        with pytest.raises(InterruptedRun, match="SIGTERM after update 8;"):
            run(tmp_path)
    with pytest.raises(InterruptedRun, match="SIGTERM after update 15;"):
        run(tmp_path, validate=validate)
    model, _ = run(tmp_path)
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


@pytest.mark.parametrize("damage", [0, 1, 2])
def test_a_damaged_newest_checkpoint_costs_some_updates_only(
    tmp_path: Path, damage: int, uninterrupted: tuple[bytes, list[dict[str, Any]]]
):
    with pytest.raises(InterruptedRun):
        run(tmp_path, hooks=(At(21, terminate),))
    files = sorted((tmp_path / "checkpoints").iterdir())
    assert [path.name for path in files] == ["update-000016.pt", "update-000021.pt"]
    for path in files[2 - damage :]:
        path.write_bytes(path.read_bytes()[:1000])
    started = []

    class Starts(NoHook):
        def start(self, model: object, update: int) -> None:
            started.append(update)

    model, _ = run(tmp_path, hooks=(Starts(),))
    assert started == [(21, 16, 0)[damage]]
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


@pytest.mark.parametrize("rhythm", [Rhythm(1, 1e6), Rhythm(7, 1e6), Rhythm(1000, 1e6), Rhythm(1000, 0.0)], ids=str)
def test_the_rhythm_of_the_checkpoints_decides_nothing(
    tmp_path: Path, rhythm: Rhythm, uninterrupted: tuple[bytes, list[dict[str, Any]]]
):
    for number, update in enumerate((6, 13, 23)):
        with pytest.raises(InterruptedRun):
            run(tmp_path, rhythm=rhythm if number % 2 else Rhythm(3, 1e6), hooks=(At(update, terminate),))
    model, _ = run(tmp_path, rhythm=rhythm)
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]


@pytest.mark.parametrize(("end", "update"), [(kill, 15), (terminate, 15), (kill, 30), (terminate, 30)])
def test_a_validation_that_was_stopped_is_made_again_and_no_other(
    tmp_path: Path, end: Callable[[], None], update: int, uninterrupted: tuple[bytes, list[dict[str, Any]]]
):
    for _ in range(2):
        _in_a_process(train_and_end_validating, tmp_path, update, end)
        assert checkpoints(tmp_path).newest().endswith(f"update-{update:06d}.pt")  # saved before
        lines = [line["update"] for line in _journal(tmp_path)]
        assert lines == [line["update"] for line in uninterrupted[1] if line["update"] <= update][:-1]
    validated = []

    def validate(model: Any) -> dict[str, float]:
        validated.append(model)
        return {"valid/loss": float(model.output_weight.detach().abs().sum())}

    model, _ = run(tmp_path, validate=validate)
    assert len(validated) == (2 if update == 15 else 1)
    assert weights(model) == uninterrupted[0]
    assert _journal(tmp_path) == uninterrupted[1]
    again, _ = run(tmp_path, validate=validate)
    assert len(validated) == (2 if update == 15 else 1)
    assert weights(again) == uninterrupted[0]


def test_averaging_points_on_both_sides_of_a_stop(tmp_path: Path):
    whole, _ = run(tmp_path / "whole", average_points=5)
    for update in (19, 24, 29):  # the points are 14, 18, 22, 26 and 30
        with pytest.raises(InterruptedRun):
            run(tmp_path / "parts", average_points=5, hooks=(At(update, terminate),))
    model, _ = run(tmp_path / "parts", average_points=5)
    assert weights(model) == weights(whole)


def test_accumulation_and_epochs_on_both_sides_of_a_stop(tmp_path: Path):
    whole, _ = run(tmp_path / "whole", accumulate_batches=3)
    with pytest.raises(InterruptedRun):
        run(tmp_path / "parts", accumulate_batches=3, hooks=(At(11, terminate),))
    model, _ = run(tmp_path / "parts", accumulate_batches=3)
    assert weights(model) == weights(whole)


def test_an_early_end_on_the_far_side_of_a_stop(tmp_path: Path):
    whole, summary = run(tmp_path / "whole", hooks=(Ends(21),))
    for stop in (13, 21):  # 21: the end was reached but its process could not finish
        with pytest.raises(InterruptedRun):
            run(tmp_path / "parts", hooks=(At(stop, terminate), Ends(21)))
    model, resumed = run(tmp_path / "parts", hooks=(Ends(21),))
    assert weights(model) == weights(whole)
    assert (resumed.updates, resumed.tokens) == (summary.updates, summary.tokens)
    assert _journal(tmp_path / "parts") == _journal(tmp_path / "whole")
