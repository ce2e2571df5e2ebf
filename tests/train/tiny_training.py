"""A training that takes a second: what the tests of the loop share, importable by the processes that they kill."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.errors import InterruptedRun
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.hooks import NoHook
from headcount.train.journal import Journal, read
from headcount.train.loop import Summary, train
from headcount.train.optim import Group, NamedAdam, inverse_sqrt, trainable
from headcount.train.runfolder import RunFolder
from headcount.vocabulary import EOS

VOCABULARY = 24

EVERY_8_UPDATES = Rhythm(8, 1e6)


def corpus(pairs: int = 60, seed: int = 1, longest: int = 8) -> Encoded:
    """Targets are the sources reversed."""
    rng = np.random.default_rng(seed)
    sources = [rng.integers(4, VOCABULARY, size=rng.integers(1, longest)).tolist() for _ in range(pairs)]
    return Encoded.from_lists([[*ids, EOS] for ids in sources], [[*ids[::-1], EOS] for ids in sources])


def make_model(dropout: float = 0.1, width: int = 16) -> Transformer:
    torch.manual_seed(1)
    config = ModelConfig(
        vocabulary=VOCABULARY,
        layers_encoder=1,
        layers_decoder=1,
        width=width,
        heads=2,
        feed_forward=2 * width,
        norm="pre",
        tie_embeddings=True,
        dropout=dropout,
        attention_dropout=0.0,
    )
    return Transformer(config)


def adam(model: Transformer, peak: float = 5e-3, warmup_updates: int = 10) -> NamedAdam:
    rate = partial(inverse_sqrt, peak=peak, warmup_updates=warmup_updates)
    return NamedAdam([Group(trainable(model), rate)], beta1=0.9, beta2=0.98)


def checkpoints(folder: Path, rhythm: Rhythm = EVERY_8_UPDATES, keep: tuple[int, ...] = ()) -> Checkpoints:
    return Checkpoints(folder / "checkpoints", identity="tiny", rhythm=rhythm, keep=keep)


def run(
    folder: Path,
    *,
    updates: int = 30,
    model: Transformer | None = None,
    keep: tuple[int, ...] = (),
    data: Encoded | None = None,
    tokens_per_batch: int = 60,
    average_points: int = 3,
    rhythm: Rhythm = EVERY_8_UPDATES,
    optimiser: NamedAdam | None = None,
    **options: object,
) -> tuple[Transformer, Summary]:
    """Train in a run folder the way a stage does."""
    model = model or make_model()
    settings: dict[str, object] = {
        "seed": 7,
        "accumulate_batches": 1,
        "label_smoothing": 0.1,
        "clip_norm": 1.0,
        "skipped_updates": 3,
        "precision": "float32",
        "validate": lambda model: {"valid/loss": float(model.output_weight.detach().abs().sum())},
        "validate_every_updates": 15,
        **options,
    }
    summary = train(
        model,
        TokenBatches(data or corpus(), tokens_per_batch=tokens_per_batch, seed=3),
        optimiser=optimiser or adam(model),
        average=Average(updates=updates, points=average_points, every_updates=4),
        updates=updates,
        journal=Journal(folder / "journal.jsonl"),
        checkpoints=checkpoints(folder, rhythm, keep),
        **settings,
    )
    return model, summary


def weights(model: Transformer) -> bytes:
    """The weights as the bytes of a safetensors file."""
    return save({name: value.clone().contiguous() for name, value in model.state_dict().items()})


class At(NoHook):
    """Do something at one update, in the middle of it."""

    def __init__(self, update: int, action: Callable[[], None]) -> None:
        self.update = update
        self.action = action

    def loss_term(self, update: int) -> torch.Tensor | None:
        if update == self.update:
            self.action()
        return None


class Ends(NoHook):
    """Be done with training from one update on."""

    def __init__(self, update: int) -> None:
        self.update = update

    def done(self, update: int) -> bool:
        return update >= self.update


class Poison(NoHook):
    """Add a term to the loss whose value and gradient are not finite."""

    def __init__(self, *updates: int, value: float = float("nan")) -> None:
        self.updates = updates
        self.value = value

    def start(self, model: Transformer, update: int) -> None:
        self.weight = model.output_weight

    def loss_term(self, update: int) -> torch.Tensor | None:
        return self.weight.sum() * self.value if update in self.updates else None


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


# What the tests start as a process of its own.


def train_and_die(folder: Path, update: int) -> None:
    """Train and be killed without a word in the middle of an update; 0: train to the end."""
    torch.set_num_threads(1)
    model, _ = run(folder, hooks=(At(update, kill),))
    (folder / "weights").write_bytes(weights(model))


def train_and_die_saving(folder: Path, saves: int) -> None:
    """Train and be killed when half of a checkpoint is written."""
    torch.set_num_threads(1)
    save_whole = torch.save
    done = []

    def save_half(state: object, handle: object) -> None:
        save_whole(state, handle)
        done.append(state)
        if len(done) == saves:
            handle.truncate(handle.tell() // 2)
            handle.flush()
            kill()

    torch.save = save_half
    run(folder)


def train_and_end_validating(folder: Path, update: int, end: Callable[[], None]) -> None:
    """Train and be ended in the middle of the validation of an update."""
    torch.set_num_threads(1)
    lines = folder / "journal.jsonl"

    def validate(model: Transformer) -> dict[str, float]:
        if read(lines)[-1]["update"] == update:
            end()
        return {"valid/loss": float(model.output_weight.detach().abs().sum())}

    with suppress(InterruptedRun):
        run(folder, validate=validate)


def train_slowly(folder: Path) -> None:
    """Train with time between two updates, for a parent that sends a signal when it likes."""
    torch.set_num_threads(1)

    class Slow(NoHook):
        def loss_term(self, update: int) -> None:
            time.sleep(0.01)

    with RunFolder(folder, {"run": "tiny"}):
        run(folder, hooks=(Slow(),))
