"""The common start of rounds and tickets: the baseline's checkpoint at update x, without the heads removed so far."""

from __future__ import annotations

import hashlib
import json

import torch

from headcount.heads import Heads
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.pruning.gradual import reduced
from headcount.pruning.lottery import rewind
from headcount.stages.begin.task import Task, full_schedule, rewind_name
from headcount.train.checkpoint import State, read
from headcount.train.optim import Group


def dense_config(task: Task) -> ModelConfig:
    """Return the shape of the dense model from which the lottery draws."""
    return ModelConfig.from_dict(json.loads((task.parents[0] / "model.json").read_text(encoding="utf-8")))


def rewound(task: Task, kept: Heads) -> tuple[Transformer, State | None, list[Group]]:
    """Return model, state and parameter groups of the heads that are kept; no state: training starts at update 0."""
    lottery, config = task.settings["lottery"], dense_config(task)
    state: State | None
    if update := lottery["rewind_update"]:
        model, state = rewind(
            read(task.parents[0] / rewind_name(update)),
            config,
            kept,
            moments=lottery["moments"],
            schedule=lottery["schedule"],
        )
    else:
        torch.manual_seed(task.seed)
        model, state = reduced(Transformer(config), kept), None  # the baseline of the seed before its first update
    model = model.to(task.device)
    return model, state, full_schedule(task, model)


def last_update(task: Task, updates: int) -> int:
    """Return where the training ends that is to reach `updates`: fewer by x where the schedule counts from 0 again."""
    lottery = task.settings["lottery"]
    return updates - (lottery["rewind_update"] if lottery["schedule"] == "restarted" else 0)


def data_seed(task: Task) -> int | None:
    """Return the seed of a new order of the batches, one for each round; None: that of the baseline."""
    lottery = task.settings["lottery"]
    if lottery["data_order"] == "same":
        return None
    digest = hashlib.blake2b(f"{task.seed} {task.settings['run']}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
