"""From a fresh initialisation: the baseline, the entmax models, and the re-initialised twin of a lottery ticket."""

from __future__ import annotations

import functools
import json
import shutil

import torch

from headcount.model import weights
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.alpha import AlphaHook
from headcount.stages.begin.task import REWIND, Beginning, Task
from headcount.train.optim import Group, inverse_sqrt, trainable


def begin(task: Task) -> Beginning:
    """Initialise the model of the settings, with the heads that a parent round kept if there is one."""
    kept = [json.loads((parent / "heads.json").read_text(encoding="utf-8"))["kept"] for parent in task.parents]
    config = ModelConfig(vocabulary=task.vocabulary, **task.settings["model"], **({"kept": kept[-1]} if kept else {}))
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
        hooks=[AlphaHook()],
        finish=finish,
    )
