"""What training a run cost: its own updates, those of all that it builds on, and how long one update took."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from headcount.analysis.study import FinishedRun

DENSE = ("train_baseline", "train_entmax")
REWOUND = ("lottery_round", "train_ticket")
"""Stages: of the dense models, and those that go on from a dense model at an early update instead of its end."""


def costs(runs: Sequence[FinishedRun]) -> dict[str, dict[str, Any]]:
    """Return the columns of `runs.csv` that tell what each run cost, by run id.

    `updates` are those of the run alone. `updates_total` adds those of its ancestors, each once: the rounds before a
    ticket (`updates_rounds`), and of a dense model what was taken over, all of it or up to the update to which was
    rewound; `train_seconds_total` is their time. All three are empty where an ancestor is not finished.
    `seconds_per_update` is the median over the intervals between two lines of the journal, so that neither
    validations nor what else the machine did for a moment count.
    """
    known = {run.run: run for run in runs}
    return {
        run.run: {"updates": own_updates(run), **_total(run, known), "seconds_per_update": _seconds_per_update(run)}
        for run in runs
    }


def _rewind(run: FinishedRun) -> int:
    """Return the update of the dense model whose weights the run took over; 0: those before the first."""
    return int(run.settings["lottery"]["rewind_update"])


def _first(run: FinishedRun) -> int:
    """Return at which update the run began to count: 0 but where it goes on with the schedule of a dense model."""
    if run.stage in REWOUND:
        return 0 if run.settings["lottery"].get("schedule") == "restarted" else _rewind(run)
    ranked = run.settings.get("ranked", {})
    return int(ranked["rewind_update"]) if ranked.get("way") == "rate_rewound" else 0


def own_updates(run: FinishedRun) -> int | None:
    """Return the updates that the run made itself."""
    last = run.record.get("updates")
    return None if last is None else int(last) - _first(run)


def _total(run: FinishedRun, known: Mapping[str, FinishedRun]) -> dict[str, Any]:
    """Add up updates and seconds of the run and of its ancestors."""
    family = {run.run: run}
    unseen = [run]
    while unseen:
        for parent in unseen.pop().settings["parents"]:
            if parent not in known:
                return {}
            if parent not in family:
                family[parent] = known[parent]
                unseen.append(known[parent])
    updates, of_rounds, seconds = 0, 0, 0.0
    for member in family.values():
        made = own_updates(member)
        if made is None:
            return {}
        counted = min(made, _used(member, family)) if member.stage in DENSE and member is not run else made
        updates += counted
        of_rounds += counted if member.stage == "lottery_round" and member is not run else 0
        seconds += (member.seconds or 0.0) * (counted / made if made else 1.0)
    return {"updates_total": updates, "updates_rounds": of_rounds, "train_seconds_total": seconds}


def _used(dense: FinishedRun, family: Mapping[str, FinishedRun]) -> int:
    """Return how many updates of a dense model its descendants took over."""
    children = [member for member in family.values() if dense.run in member.settings["parents"]]
    return max(_rewind(child) if child.stage in REWOUND else int(dense.record["updates"]) for child in children)


def _seconds_per_update(run: FinishedRun) -> float | None:
    clock = run.clock
    lines = [line for line in run.journal if clock in line]
    start = {"update": _first(run), clock: 0.0}
    intervals = [
        (after[clock] - before[clock]) / (after["update"] - before["update"])
        for before, after in pairwise([start, *lines])
        if after["update"] > before["update"]  # not from a report to the validation of the same update
    ]
    return statistics.median(intervals) if intervals else None
