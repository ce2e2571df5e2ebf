"""`headcount train --ranks 2`: one command, several processes, one run folder, one exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from command import headcount
from tiny_settings import TINY

from headcount.config import parse
from headcount.errors import InterruptedRun, UserError
from headcount.plan import runs
from headcount.train.journal import read

LIMIT_SECONDS = 60


def start(data: Path, out: Path, *, ranks: int, **training: Any) -> subprocess.Popen[str]:
    study = {**TINY, "model": {**TINY["model"], "dropout": 0.0}, "training": {**TINY["training"], **training}}
    settings = runs(parse(study))["baseline-s1"].canonical
    options = ["--settings", settings, "--code", "code", "--data", str(data), "--out", str(out)]
    return headcount("train", "--ranks", str(ranks), *options, start_new_session=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        text, _ = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, text


def rank_processes(launcher: int) -> dict[int, int]:
    """Rank -> id of its process."""
    found = {}
    for pid in map(int, Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()):
        environment = dict(
            entry.split("=", 1) for entry in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in entry
        )
        if "TORCHELASTIC_RUN_ID" in environment:
            found[int(environment["RANK"])] = pid
    return found


def started_for_good(process: subprocess.Popen[str], out: Path) -> None:
    """Wait for the first journal line, so that the ranks are in the middle of it."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not (out / "journal.jsonl").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)


def record(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return found


def test_two_ranks_end_like_one(data: Path, tmp_path: Path):
    processes = {ranks: start(data, tmp_path / str(ranks), ranks=ranks) for ranks in (0, 2)}
    for ranks, process in processes.items():
        status, text = ended(process)
        assert status == 0, text
        assert text.count("update 40/40") == 1  # one rank speaks for all
        assert record(tmp_path / str(ranks))["status"] == "finished"
    one, two = (read(tmp_path / str(ranks) / "journal.jsonl") for ranks in (0, 2))
    assert [(line["update"], line["tokens"]) for line in two] == [(line["update"], line["tokens"]) for line in one]
    for key in ("loss", "valid/loss"):
        assert [line[key] for line in two if key in line] == pytest.approx(
            [line[key] for line in one if key in line], rel=1e-3
        )
    assert [record(tmp_path / str(ranks))["ranks"] for ranks in (0, 2)] == [1, 2]
    assert (tmp_path / "2" / "model.safetensors").stat().st_size == (
        tmp_path / "0" / "model.safetensors"
    ).stat().st_size


def test_a_signal_to_the_command_or_to_a_rank_asks_for_a_new_start(data: Path, tmp_path: Path):
    for number, to_rank in ((signal.SIGUSR1, False), (signal.SIGTERM, True)):
        out = tmp_path / number.name
        process = start(data, out, ranks=2, updates=100_000)
        started_for_good(process, out)
        os.kill(rank_processes(process.pid)[1] if to_rank else process.pid, number)
        status, text = ended(process)
        assert status == InterruptedRun.status, text
        assert record(out)["status"] == "interrupted"
        assert list((out / "checkpoints").glob("update-*.pt"))


def test_a_rank_that_is_killed_is_named(data: Path, tmp_path: Path):
    process = start(data, tmp_path, ranks=2, updates=100_000)
    started_for_good(process, tmp_path)
    os.kill(rank_processes(process.pid)[1], signal.SIGKILL)
    status, text = ended(process)
    assert status == UserError.status, text
    assert "error: rank 1 (process" in text
    assert "ended with SIGKILL" in text
    said = record(tmp_path)
    assert said["status"] in ("failed", "running")  # failed where rank 0 had the time to say so


def test_variables_of_somebody_elses_ranks_mean_nothing(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    status, text = ended(start(data, tmp_path, ranks=1))
    assert status == 0, text
    assert record(tmp_path)["ranks"] == 1
