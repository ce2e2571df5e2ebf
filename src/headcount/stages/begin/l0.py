"""L0 fine-tuning: gates on the heads of a trained model, a penalty on the open ones, removal of the closed."""

from __future__ import annotations

from headcount.model import weights
from headcount.observe.alpha import AlphaHook
from headcount.pruning.control import Control
from headcount.pruning.l0 import L0Hook, attach, parameter_groups, pruned
from headcount.stages.begin.task import Beginning, Task


def begin(task: Task) -> Beginning:
    """Attach the gates of the scope; the fine-tuning starts its own count of updates and fresh Adam moments.

    The last weights are taken as they are: averaging would mix models of more heads into one of fewer.
    """
    l0 = task.settings["l0"]
    model = weights.load(task.parents[0], task.device)
    attach(
        model,
        scope=l0["scope"],
        initial_log_alpha=l0["initial_log_alpha"],
        initial_spread=l0["initial_spread"],
        seed=task.seed,
        temperature=l0["temperature"],
        low=l0["stretch_low"],
        high=l0["stretch_high"],
        at_test=l0["gates_at_test"],
    )
    control = Control(
        l0["penalty"],
        target_heads=l0["target_heads"],
        gate_learning_rate=l0["gate_learning_rate"],
        settled_updates=l0["settled_updates"],
    )
    groups = parameter_groups(model, learning_rate=l0["learning_rate"], gate_learning_rate=l0["gate_learning_rate"])
    return Beginning(
        model=model,
        groups=groups,
        updates=l0["updates"],
        hooks=[L0Hook(model, control), AlphaHook()],
        finish=lambda: weights.save(pruned(model), task.out),
    )
