"""One lottery round: rewind to update x, train y updates, remove the n heads of the lowest score."""

from __future__ import annotations

import json

from headcount.files import atomic_write
from headcount.pruning.lottery import prune
from headcount.stages.begin.rewound import rewound
from headcount.stages.begin.task import Beginning, Task


def begin(task: Task) -> Beginning:
    """Rewind the heads of the round before; the end of the training writes those of the next one."""
    model, state, groups = rewound(task)
    lottery = task.settings["lottery"]

    def finish() -> None:
        decided = prune(
            model,
            task.dev,
            scorer=lottery["scorer"],
            heads_per_round=lottery["heads_per_round"],
            ranking=lottery["ranking"],
            seed=task.seed,
        )
        atomic_write(task.out / "heads.json", json.dumps(decided.to_dict(), indent=1) + "\n")

    return Beginning(
        model=model,
        groups=groups,
        start=state,
        updates=lottery["rewind_update"] + lottery["round_updates"],
        finish=finish,
    )
