"""Keep MLflow current while a study runs: one process, which reads run folders and never touches a training."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from headcount.errors import UserError
from headcount.tracking.payload import read_json, run_names, signs
from headcount.tracking.sync import sync

SHARE = 0.01
"""Part of one core that syncs may use: after a long one the next comes later."""

LOOK_SECONDS = 1.0
"""How soon it is seen that there is nothing to follow any more."""


def follow(
    study_folder: Path, uri: str, every_seconds: float, goes_on: Callable[[], bool], tell: Callable[[str], None]
) -> None:
    """Sync what has changed in the run folders of a study, again and again, as long as `goes_on`.

    A sync that did not work is told once and tried again: nothing is lost, for the run folders hold everything.

    Args:
        study_folder: `results/<study>`; it may come later.
        uri: address of the store; empty is the default.
        every_seconds: distance of two syncs; longer where a sync is expensive, see `SHARE`.
        goes_on: asked every second.
        tell: takes lines for people.

    """
    synced: dict[str, object] = {}
    told, pause, loaded = "", every_seconds, False
    while _waited(pause, goes_on):
        began = time.process_time()
        now = {name: signs(study_folder, name) for name in run_names(study_folder)}
        due = [name for name in now if synced.get(name) != now[name] or _claims_to_run(study_folder, name)]
        report = sync(study_folder, uri, due) if due else None
        if report and not report.problems:
            synced |= {name: now[name] for name in due}
        said = "\n".join(report.problems) if report else told
        if said not in ("", told):
            tell(str(report))
        told = said
        used = time.process_time() - began
        pause = max(every_seconds, used / SHARE) if loaded else every_seconds
        loaded = loaded or report is not None  # the first one also loads MLflow, seconds that never come again


def _waited(seconds: float, goes_on: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while goes_on():
        left = until - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(left, LOOK_SECONDS))
    return False


def _claims_to_run(study_folder: Path, name: str) -> bool:
    """Tell whether a run is marked as running: its process may have died since, which changes no file."""
    try:
        return bool(read_json(study_folder / "runs" / name / "run.json").get("status") == "running")
    except UserError:
        return False
