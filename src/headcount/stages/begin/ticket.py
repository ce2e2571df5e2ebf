"""A winning ticket: the heads that the rounds kept, rewound to update x and trained to the full budget."""

from __future__ import annotations

from headcount.model import weights
from headcount.stages.begin.rewound import rewound
from headcount.stages.begin.task import Beginning, Task


def begin(task: Task) -> Beginning:
    """Rewind the survivors of the parent round; the updates before x were the baseline's."""
    model, state, groups = rewound(task)
    return Beginning(
        model=model,
        groups=groups,
        start=state,
        updates=task.training["updates"],
        average_checkpoints=task.training["average_checkpoints"],
        finish=lambda: weights.save(model, task.out),
    )
