"""From a fresh initialisation: all dense models, and the twins of pruned ones, with as many heads."""

from __future__ import annotations

import shutil
from typing import Any

import torch

from headcount.files import atomic_path
from headcount.model import weights
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.alpha import AlphaHook
from headcount.stages.begin.task import Beginning, Task, full_schedule, kept_heads, rewind_name


def begin(task: Task) -> Beginning:
    """Initialise the model of the settings, with the heads that the last parent kept if there is one."""
    kept: dict[str, Any] = {"kept": kept_heads(task.parents[-1])} if task.parents else {}
    config = ModelConfig(vocabulary=task.vocabulary, **task.settings["model"], **kept)
    torch.manual_seed(task.seed)
    model = Transformer(config).to(task.device)
    training = task.training

    def finish() -> None:
        for update in task.settings.get("keep_updates", ()):
            with atomic_path(task.out / rewind_name(update)) as copy:
                shutil.copy(task.out / "checkpoints" / f"update-{update:06d}.pt", copy)
        weights.save(model, task.out)  # last, since the rules take it as the sign that the rest is there as well

    return Beginning(
        model=model,
        groups=full_schedule(task, model),
        updates=training["updates"],
        average_checkpoints=training["average_checkpoints"],
        hooks=[] if kept else [AlphaHook()],  # a trajectory names a head by its place among all
        finish=finish,
    )
