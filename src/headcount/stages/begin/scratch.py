"""From a fresh initialisation: the baseline, the entmax models, and the twins of pruned models with as many heads."""

from __future__ import annotations

import functools
import shutil
from typing import Any

import torch

from headcount.model import weights
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.alpha import AlphaHook
from headcount.stages.begin.task import REWIND, Beginning, Task, kept_heads
from headcount.train.optim import Group, inverse_sqrt, trainable


def begin(task: Task) -> Beginning:
    """Initialise the model of the settings, with the heads that the last parent kept if there is one."""
    kept: dict[str, Any] = {"kept": kept_heads(task.parents[-1])} if task.parents else {}
    config = ModelConfig(vocabulary=task.vocabulary, **task.settings["model"], **kept)
    torch.manual_seed(task.seed)
    model = Transformer(config).to(task.device)
    training = task.training
    rate = functools.partial(inverse_sqrt, peak=training["learning_rate"], warmup_updates=training["warmup_updates"])

    def finish() -> None:
        weights.save(model, task.out)
        if update := task.settings.get("keep_update", 0):
            shutil.copy(task.out / "checkpoints" / f"update-{update:06d}.pt", task.out / REWIND)

    return Beginning(
        model=model,
        groups=[Group(trainable(model), rate)],
        updates=training["updates"],
        average_checkpoints=training["average_checkpoints"],
        hooks=[] if kept else [AlphaHook()],  # a trajectory names a head by its place among all
        finish=finish,
    )
