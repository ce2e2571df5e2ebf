"""A run shows up in MLflow while it trains, and nothing about that can stop or change the training."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from headcount.stages import live


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    return commands


def tracking(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    settings = {"enabled": True, "uri": "sqlite:///x.db", "sync_seconds": 0.01, **changes}
    monkeypatch.setenv(live.VARIABLE, json.dumps(settings))


def wait_for(commands: list[list[str]], number: int) -> None:
    until = time.monotonic() + 20
    while len(commands) < number:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_run_alone_is_synced_again_and_again(started, monkeypatch: pytest.MonkeyPatch):
    tracking(monkeypatch)
    with live.live_sync(Path("results/x/runs/baseline-s1")):
        wait_for(started, 3)
    assert started[0][-1] == "baseline-s1"
    assert started[0][started[0].index("--study") + 1] == "results/x"
    assert started[0][started[0].index("--uri") + 1] == "sqlite:///x.db"


def test_nothing_is_synced_when_tracking_is_off_or_unset(started, monkeypatch: pytest.MonkeyPatch):
    tracking(monkeypatch, enabled=False)
    with live.live_sync(Path("results/x/runs/a")):
        time.sleep(0.05)
    monkeypatch.delenv(live.VARIABLE)
    with live.live_sync(Path("results/x/runs/a")):
        time.sleep(0.05)
    assert started == []


def test_a_sync_that_cannot_start_and_an_error_in_training_change_nothing(monkeypatch: pytest.MonkeyPatch):
    tries: list[int] = []

    def broken(*_: object, **__: object) -> None:
        tries.append(1)
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "run", broken)
    tracking(monkeypatch)
    with live.live_sync(Path("results/x/runs/a")):
        time.sleep(0.1)
    assert len(tries) > 1
    with pytest.raises(KeyError, match="training"), live.live_sync(Path("results/x/runs/a")):
        raise KeyError("training")
