"""Differentiable subset pruning: a trained model and the choice of its K heads are trained together."""

from __future__ import annotations

from headcount.model import weights
from headcount.pruning.subset import SubsetHook, attach, parameter_groups, pruned
from headcount.stages.begin.task import Beginning, Task


def begin(task: Task) -> Beginning:
    """Put the mask over the heads; the fine-tuning starts its own count of updates and fresh Adam moments.

    The last weights are taken as they are: averaging would mix models of other heads.
    """
    subset = task.settings["subset"]
    model = weights.load(task.parents[0], task.device)
    attach(model, keep=subset["heads"], estimator=subset["estimator"])
    hook = SubsetHook(
        updates=subset["updates"],
        temperature_start=subset["temperature_start"],
        temperature_end=subset["temperature_end"],
    )
    return Beginning(
        model=model,
        groups=parameter_groups(
            model, learning_rate=subset["learning_rate"], gate_learning_rate=subset["gate_learning_rate"]
        ),
        updates=subset["updates"],
        hooks=[hook],
        finish=lambda: weights.save(pruned(model), task.out),
    )
