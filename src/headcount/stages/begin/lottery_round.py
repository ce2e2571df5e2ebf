"""One lottery round: rewind to update x, train y updates, remove the n heads of the lowest score."""

from __future__ import annotations

import json

from headcount.files import atomic_write
from headcount.pruning.lottery import prune
from headcount.stages.begin.rewound import data_seed, dense_config, last_update, rewound
from headcount.stages.begin.task import Beginning, Task, kept_heads


def begin(task: Task) -> Beginning:
    """Rewind the heads of the round before; the end of the training writes those of the next one."""
    kept = kept_heads(task.parents[-1]) if len(task.parents) > 1 else dense_config(task).kept
    model, state, groups = rewound(task, kept)
    lottery = task.settings["lottery"]

    def finish() -> None:
        decided = prune(
            model,
            task.dev,
            scorer=lottery["scorer"],
            heads_per_round=lottery["heads_per_round"],
            ranking=lottery["ranking"],
            least_per_layer=lottery["least_per_layer"],
            scope=lottery["scope"],
            seed=task.seed,
        )
        atomic_write(task.out / "heads.json", json.dumps(decided.to_dict(), indent=1) + "\n")

    return Beginning(
        model=model,
        groups=groups,
        start=state,
        updates=last_update(task, lottery["rewind_update"] + lottery["round_updates"]),
        finish=finish,
        data_seed=data_seed(task),
    )
