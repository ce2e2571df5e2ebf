"""The common start of rounds and tickets: the baseline's checkpoint at update x, without the heads removed so far."""

from __future__ import annotations

import functools
import json

from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.pruning.lottery import rewind
from headcount.stages.begin.task import REWIND, Task, kept_heads
from headcount.train.checkpoint import State, read
from headcount.train.optim import Group, inverse_sqrt, trainable


def rewound(task: Task) -> tuple[Transformer, State, list[Group]]:
    """Return model, state and parameter groups of the heads that the last parent kept, or of all before round 1."""
    baseline, *rounds = task.parents
    config = ModelConfig.from_dict(json.loads((baseline / "model.json").read_text(encoding="utf-8")))
    kept = kept_heads(rounds[-1]) if rounds else config.kept
    model, state = rewind(read(baseline / REWIND), config, kept)
    model = model.to(task.device)
    training = task.training
    rate = functools.partial(inverse_sqrt, peak=training["learning_rate"], warmup_updates=training["warmup_updates"])
    return model, state, [Group(trainable(model), rate)]
