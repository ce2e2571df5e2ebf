"""How long one update of a model takes on this machine: a few seconds of the real training loop on random sentences."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.estimate import TYPICAL_LENGTH
from headcount.jobs import ENVIRONMENT
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.device import choose_device
from headcount.train.hooks import NoHook
from headcount.train.journal import Journal
from headcount.train.loop import train
from headcount.train.optim import Group, NamedAdam, inverse_sqrt, trainable
from headcount.vocabulary import EOS

BATCHES = 20
"""Random batches, which are taken in turn."""

WARM_UPDATES = 3
"""Updates that are not timed: caches and memory fill, a GPU compiles."""

NEVER = 10**9
"""An update, or a second, that does not come."""


Measured = tuple[float, int]
"""Seconds of one update, and of how many updates that is the mean: CPU time on a CPU, else wall time."""


def measure(model: Mapping[str, Any], training: Mapping[str, Any], *, device: str, seconds: float) -> Measured:
    """Train for some seconds in a process of its own, on one thread and with the memory settings of a job.

    Args:
        model: sizes, normalisers and `vocabulary`.
        training: settings of the optimisation.
        device: cpu or cuda.
        seconds: of training that are timed; at least one update is.

    Raises:
        UserError: there is no such device.

    """
    before = dict(os.environ)
    os.environ.update(ENVIRONMENT, OMP_NUM_THREADS="1")  # malloc reads them once, when a process starts
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(time_updates, dict(model), dict(training), device, seconds).result()
    finally:
        os.environ.clear()
        os.environ.update(before)


def time_updates(model: Mapping[str, Any], training: Mapping[str, Any], device: str, seconds: float) -> Measured:
    """Time updates in this process; see `measure`."""
    torch.set_num_threads(1)
    place = choose_device(device)
    transformer = Transformer(ModelConfig(**model)).to(place)
    updates = max(training["updates"], WARM_UPDATES + 1)
    watch = Stopwatch(seconds, updates)
    with tempfile.TemporaryDirectory() as folder:
        train(
            transformer,
            TokenBatches(
                random_pairs(model["vocabulary"], training["tokens_per_batch"]),
                tokens_per_batch=training["tokens_per_batch"],
                seed=1,
            ),
            optimiser=NamedAdam(
                [Group(trainable(transformer), _rate)], beta1=training["adam_beta1"], beta2=training["adam_beta2"]
            ),
            average=Average(updates=updates, points=1, every_updates=1),
            seed=1,
            updates=updates,
            accumulate_batches=training["accumulate_batches"],
            label_smoothing=training["label_smoothing"],
            clip_norm=training["clip_norm"],
            skipped_updates=NEVER,
            precision=training["precision"],
            journal=Journal(Path(folder) / "journal.jsonl"),
            checkpoints=Checkpoints(Path(folder), identity="", rhythm=Rhythm(NEVER, NEVER)),
            validate=lambda _: {},
            validate_every_updates=NEVER,
            hooks=[watch],
        )
    return watch.measured


class Stopwatch(NoHook):
    """Ends the training when the seconds are over, and knows what an update took."""

    def __init__(self, seconds: float, updates: int) -> None:
        self.measured: Measured = (0.0, 0)
        self._seconds = seconds
        self._last = updates
        self._on_gpu = False
        self._started = 0.0

    def start(self, model: nn.Module, update: int) -> None:
        """See where the model is trained."""
        self._on_gpu = next(model.parameters()).is_cuda

    def done(self, update: int) -> bool:
        """Start after the first updates; measure once the time is over."""
        if update == WARM_UPDATES:
            self._wait()
            self._started = self._clock()
        spent = update > WARM_UPDATES and self._clock() - self._started >= self._seconds
        over = spent or update == self._last
        if over:
            self._wait()
            updates = update - WARM_UPDATES
            self.measured = (self._clock() - self._started) / updates, updates
        return over

    def _wait(self) -> None:
        if self._on_gpu:
            torch.cuda.synchronize()

    def _clock(self) -> float:
        return time.monotonic() if self._on_gpu else time.process_time()


def random_pairs(vocabulary: int, tokens_per_batch: int) -> Encoded:
    """Return pairs of random pieces for `BATCHES` batches, from half to one and a half times the typical length."""
    draw = np.random.default_rng(1)

    sentences = BATCHES * max(1, tokens_per_batch // TYPICAL_LENGTH)

    def side() -> list[list[int]]:
        lengths = draw.integers(TYPICAL_LENGTH // 2, TYPICAL_LENGTH * 3 // 2, sentences)
        return [[*draw.integers(EOS + 1, vocabulary, length - 1).tolist(), EOS] for length in lengths]

    return Encoded.from_lists(side(), side())


def _rate(update: int) -> float:
    return inverse_sqrt(update, peak=1e-3, warmup_updates=100)
