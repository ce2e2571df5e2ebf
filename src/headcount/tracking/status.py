"""What became of a run: its recorded status, checked against the process that should still be working on it."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Mapping
from typing import Any

from headcount.processes import lives
from headcount.train.owner import STALE_SECONDS

STATUS = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED", "interrupted": "KILLED"}
"""`run.json` → MLflow; `running` is looked at more closely."""

SQUEUE_SECONDS = 15.0

LOST_SECONDS = 10 * STALE_SECONDS
"""A run on another host without a job in a queue is given up after this silence; wrongly, the next sync mends it."""


def status_of(record: Mapping[str, Any], silent_seconds: float) -> str:
    """Return MLflow's status of the run that `run.json` describes.

    A run that is still marked `running` is KILLED when its process is gone (same host), when its SLURM job no longer
    runs (other host), or when it was silent for `LOST_SECONDS` (other host, no queue to ask).

    Args:
        record: content of `run.json`.
        silent_seconds: time since the last heartbeat of the run's process.

    """
    recorded = str(record.get("status", ""))
    if recorded != "running":
        return STATUS.get(recorded, "FAILED")
    if record.get("host") in (socket.gethostname(), socket.getfqdn()):
        alive = lives(int(record.get("pid") or 0), str(record.get("born") or ""))
    elif silent_seconds < STALE_SECONDS:
        alive = True
    else:
        listed = _slurm_runs(str(record.get("slurm_job") or ""))
        alive = silent_seconds < LOST_SECONDS if listed is None else listed
    return "RUNNING" if alive else "KILLED"


def _slurm_runs(job: str) -> bool | None:
    """Tell whether the queue says that the job runs; None where it cannot be asked.

    One that waits in the queue has been requeued, after its process was killed.
    """
    if not job or shutil.which("squeue") is None:
        return None
    command = ["squeue", "--noheader", "--format=%T", f"--jobs={job}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=SQUEUE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode:
        return False if "Invalid job id" in answer.stderr else None
    return answer.stdout.strip() in ("RUNNING", "SUSPENDED", "COMPLETING")
