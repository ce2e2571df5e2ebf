"""A ticket: the heads that the rounds kept, or as many others, rewound to update x and trained to the full budget."""

from __future__ import annotations

from headcount.heads import Heads, without
from headcount.model import weights
from headcount.pruning.removal import generator, same_counts
from headcount.stages.begin.rewound import data_seed, dense_config, last_update, rewound
from headcount.stages.begin.task import Beginning, Task, kept_heads


def begin(task: Task) -> Beginning:
    """Rewind the survivors of the parent round; the updates before x were the baseline's."""
    model, state, groups = rewound(task, _heads(task))
    return Beginning(
        model=model,
        groups=groups,
        start=state,
        updates=last_update(task, task.training["updates"]),
        average_checkpoints=task.training["average_checkpoints"],
        finish=lambda: weights.save(model, task.out),
        data_seed=data_seed(task),
    )


def _heads(task: Task) -> Heads:
    """Return the winning heads, or, for the control, random ones with as many in every layer (see `same_counts`)."""
    winning = kept_heads(task.parents[-1])
    if "removal" not in task.settings:
        return winning
    dense = dense_config(task)
    return without(
        dense.kept, same_counts(dense.kept, winning, generator(task.seed, task.settings["run"])), dense.heads
    )
