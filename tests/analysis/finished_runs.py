"""Run folders of a made-up lottery, as small as what counts updates and heads needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headcount.analysis.study import FinishedRun

STAGES = {"baseline": "train_baseline", "round": "lottery_round", "ticket": "train_ticket", "reinit": "train_reinit"}
X, Y, T = 20, 10, 100
"""Updates before the rewind, of a round, and of a whole training."""


def finished(
    folder: Path, run: str, parents: tuple[str, ...] = (), *, updates: int = T, seconds: float = 1.0, **settings: Any
) -> FinishedRun:
    """Return a run whose counter ended at `updates`; its method is the first part of its name unless told."""
    method = settings.get("method", run.split("-")[0])
    common = {"run": run, "corpus": "en-de", "seed": 1, "normaliser": "softmax", "method": method}
    stage = STAGES.get(method, f"finetune_{method}")
    every = {**common, "stage": stage, "parents": list(parents), **settings}
    (folder / run).mkdir()
    return FinishedRun(folder / run, every, {"updates": updates, "seconds": seconds})


def write(run: FinishedRun, name: str, value: Any) -> None:
    """Write a JSON file into the folder of a run."""
    (run.folder / name).write_text(json.dumps(value), encoding="utf-8")


def lottery(folder: Path, rounds: int = 2) -> list[FinishedRun]:
    """Return a dense model, so many rounds, and a ticket and a re-initialised model that hang on the last of them."""
    rewound = {"lottery": {"rewind_update": X}}
    runs = [finished(folder, "baseline-s1", seconds=10.0)]
    for number in range(1, rounds + 1):
        before = (f"round-{number - 1}",) if number > 1 else ()
        settings = {"lottery": {"rewind_update": X, "round": number}}
        runs.append(finished(folder, f"round-{number}", ("baseline-s1", *before), updates=X + Y, **settings))
    last = runs[-1].run
    runs.append(finished(folder, "ticket", ("baseline-s1", last), seconds=8.0, **rewound))
    runs.append(finished(folder, "reinit", (last,), seconds=9.0))
    return runs
