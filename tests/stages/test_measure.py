"""Timing an update: the real loop on random sentences, in a process with a job's environment."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from tiny_settings import TINY

from headcount import estimate, plan
from headcount.config import parse
from headcount.jobs import ENVIRONMENT
from headcount.stages import measure as stage
from headcount.stages.measure import BATCHES, WARM_UPDATES, measure, random_pairs, time_updates
from headcount.train import loop
from headcount.vocabulary import EOS

STUDY = parse({**TINY, "methods": ["entmax"]})
RUNS = plan.runs(STUDY)


def shape(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return estimate.model_of(RUNS[name], RUNS, STUDY.subword.vocabulary), RUNS[name].settings["training"]


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("run", ["baseline-s1", "entmax_alpha-s1"])
def test_updates_go_through_the_real_loop(run: str, monkeypatch: pytest.MonkeyPatch):
    seen: dict[str, Any] = {}

    def spy(model: Any, batches: Any, **options: Any) -> Any:
        seen.update(normalisers=model.config.normalisers, tokens=batches.tokens_per_batch, **options)
        return loop.train(model, batches, **options)

    monkeypatch.setattr(stage, "train", spy)
    model, training = shape(run)
    seconds, updates = time_updates(model, training, "cpu", 0.0)
    assert seconds > 0
    assert updates == 1  # the first that is timed is one too many
    assert seen["normalisers"] == model["normalisers"]
    assert seen["tokens"] == training["tokens_per_batch"]
    assert seen["accumulate_batches"] == training["accumulate_batches"]


@pytest.mark.parametrize(("planned", "timed"), [(40, 40 - WARM_UPDATES), (2, 1)])
def test_a_training_that_is_over_before_the_time_ends_the_measurement(planned: int, timed: int):
    model, training = shape("baseline-s1")
    assert time_updates(model, {**training, "updates": planned}, "cpu", 1e6)[1] == timed


def test_the_process_has_the_memory_settings_of_a_job_and_leaves_ours_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    before = dict(os.environ)
    monkeypatch.setattr(stage, "time_updates", environment)
    model, training = shape("baseline-s1")
    told = measure(model, training, device="cpu", seconds=0.0)
    assert told == {**ENVIRONMENT, "OMP_NUM_THREADS": "1"}
    assert dict(os.environ) == before


def environment(*_: Any) -> dict[str, str]:
    return {name: os.environ[name] for name in (*ENVIRONMENT, "OMP_NUM_THREADS")}


def test_random_pairs_hold_real_pieces_of_the_typical_length():
    pairs = random_pairs(50, 140)
    assert len(pairs) == BATCHES * 10
    assert set(pairs.source_tokens.tolist()) <= set(range(EOS, 50))
    for lengths in (pairs.source_lengths, pairs.target_lengths):
        assert abs(float(lengths.mean()) - estimate.TYPICAL_LENGTH) < 1
    assert all(pairs.target(index)[-1] == EOS for index in range(len(pairs)))
