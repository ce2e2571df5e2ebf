"""What a training is asked to do, and what a beginning hands to the loop."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headcount.data.encoded import Encoded
from headcount.heads import Heads
from headcount.model.transformer import Transformer
from headcount.train.checkpoint import State
from headcount.train.hooks import Hook
from headcount.train.optim import Group, inverse_sqrt, trainable


def rewind_name(update: int) -> str:
    """Name the checkpoint of an update to which others rewind, in the folder of the dense model."""
    return f"rewind-{update:06d}.pt"


ROLES = "roles.json"
"""Name of the table of named heads in the folder of a dense model."""


@dataclass(frozen=True)
class Task:
    """A run's settings and the places that its rule names."""

    settings: dict[str, Any]
    parents: tuple[Path, ...]
    out: Path
    vocabulary: int
    dev: Encoded
    device: torch.device

    @property
    def training(self) -> dict[str, Any]:
        """The settings of the optimisation."""
        training: dict[str, Any] = self.settings["training"]
        return training

    @property
    def seed(self) -> int:
        """Seed of initialisation, data order and dropout."""
        return int(self.settings["seed"])


@dataclass(frozen=True)
class Beginning:
    """Where a training starts, how far it goes, and what becomes of the trained model."""

    model: Transformer
    groups: Sequence[Group]
    updates: int
    """Optimiser updates, those before `start` included."""
    finish: Callable[[], None]
    """Writes the outputs of the run."""
    average_checkpoints: int = 1
    start: State | None = None
    hooks: Sequence[Hook] = ()
    data_seed: int | None = None
    """Seed of the order of the batches; None: the run's own."""


def full_schedule(task: Task, model: Transformer) -> list[Group]:
    """Return all parameters that are trained, at the learning rates of a training from scratch."""
    training = task.training
    rate = functools.partial(inverse_sqrt, peak=training["learning_rate"], warmup_updates=training["warmup_updates"])
    return [Group(trainable(model), rate)]


def kept_heads(parent: Path) -> Heads:
    """Return the heads that a parent run left: those a lottery round decided on, or those of its model."""
    decided = parent / "heads.json"
    found = decided if decided.exists() else parent / "model.json"
    kept: Heads = json.loads(found.read_text(encoding="utf-8"))["kept"]
    return kept
