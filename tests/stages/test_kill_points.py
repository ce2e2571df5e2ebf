"""Killed without a word at any moment, again and again, a training ends with the bytes of one that never was."""

from __future__ import annotations

import logging
import random
import shutil
import signal
from pathlib import Path

import pytest
from killable import PROCESSES, DieAt, finish, results, start

from headcount.config import Study
from headcount.plan import runs

log = logging.getLogger(__name__)

KILLED = -signal.SIGKILL
RUNS = {"baseline-s1": 10, "l0-encoder-1-s1": 5, "round-01-s1": 5}
"""Run → kills. Together they write all kinds of result: weights, rewind point, gates, kept heads."""

POINTS = [
    DieAt("replace", "run.json"),
    DieAt("replace", "update-000005.pt"),
    DieAt("replace", "update-000005.pt", after=True),
    DieAt("unlink", "update-000005.pt"),  # the checkpoint that replaces it has its name by then
    DieAt("append", "journal.jsonl"),
    DieAt("replace", "journal.jsonl"),  # the half line of the attempt before is dropped
    DieAt("append", "journal.jsonl", number=2),  # the line of a validation whose update is saved
    DieAt("replace", "update-000040.pt"),
    DieAt("replace", "rewind-000010.pt"),
    DieAt("replace", "model.safetensors"),
    DieAt("replace", "model.safetensors", after=True),
    DieAt("replace", "model.json"),
    DieAt("replace", "model.json", after=True),
    DieAt("replace", "run.json", number=2),
    DieAt("replace", "run.json", number=3),
]
"""In the order in which attempts that go on from each other come to them."""


@pytest.fixture(scope="module")
def whole(tiny: Study, data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """Undisturbed runs, and the seconds of each."""
    first = PROCESSES.Process(target=int)  # starts the server, which takes longer than a run
    first.start()
    first.join()
    folder = tmp_path_factory.mktemp("whole")
    planned = runs(tiny)
    return folder, [finish(planned[name], data, folder) for name in RUNS]


def test_twenty_kills_at_random_moments(whole: tuple[Path, list[float]], tiny: Study, data: Path, tmp_path: Path):
    undisturbed, seconds = whole
    seed = random.randrange(1 << 32)
    log.warning("seed %d", seed)  # shown when the test fails
    rng = random.Random(seed)
    planned, kills = runs(tiny), 0
    for (name, wanted), whole_seconds in zip(RUNS.items(), seconds, strict=True):
        run, until = planned[name], kills + wanted
        while kills < until:
            process = start(run, data, tmp_path, every_updates=1)
            process.join(rng.uniform(0.0, 0.6) * whole_seconds)
            process.kill()
            process.join()
            if process.exitcode == 0:  # it was faster: once more from the beginning
                assert results(tmp_path / name) == results(undisturbed / name)
                shutil.rmtree(tmp_path / name)
            else:
                assert process.exitcode == KILLED
                kills += 1
        finish(run, data, tmp_path)
        assert results(tmp_path / name) == results(undisturbed / name)
    assert kills == 20


def test_kills_between_two_steps_of_writing(whole: tuple[Path, list[float]], tiny: Study, data: Path, tmp_path: Path):
    undisturbed, _ = whole
    run = runs(tiny)["baseline-s1"]
    for point in POINTS:
        process = start(run, data, tmp_path, first=point)
        process.join(60)
        assert process.exitcode == KILLED, point
    finish(run, data, tmp_path)
    assert results(tmp_path / run.run) == results(undisturbed / run.run)
