"""Controls of L0: heads chosen without gates are removed from the dense model, the rest is fine-tuned alike."""

from __future__ import annotations

import functools
import json

from headcount.heads import Head, Heads, without
from headcount.model import weights
from headcount.pruning.gradual import reduced
from headcount.pruning.l0 import freeze
from headcount.pruning.removal import as_many_at_random, by_role, generator
from headcount.stages.begin.task import ROLES, Beginning, Task, kept_heads
from headcount.train.optim import Group, constant, trainable


def begin(task: Task) -> Beginning:
    """Remove the heads; the fine-tuning trains the same weights as that of L0, for as many updates at the same rate."""
    l0 = task.settings["l0"]
    dense = weights.load(task.parents[0], task.device)
    existing = dense.config.kept
    kept = without(existing, _chosen(task, existing), dense.config.heads)
    model = reduced(dense, kept)
    freeze(model, l0["scope"])
    return Beginning(
        model=model,
        groups=[Group(trainable(model), functools.partial(constant, rate=l0["learning_rate"]))],
        updates=l0["updates"],
        finish=lambda: weights.save(model, task.out),
    )


def _chosen(task: Task, existing: Heads) -> list[Head]:
    select = task.settings["removal"]["select"]
    chance = generator(task.seed, task.settings["run"])
    if select == "random":
        return as_many_at_random(existing, kept_heads(task.parents[-1]), chance)
    table = json.loads((task.parents[0] / ROLES).read_text(encoding="utf-8"))
    return by_role(existing, table["heads"], select, chance)
