"""What became of a run: its recorded status, checked against the process that should still be working on it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STATUS = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED", "interrupted": "KILLED"}
"""`run.json` → MLflow; `running` is looked at more closely."""

SQUEUE_SECONDS = 15.0


def status_of(record: Mapping[str, Any]) -> str:
    """Return MLflow's status of the run that `run.json` describes.

    A run that is still marked `running` is KILLED when its process is gone (same host) or its SLURM job is no longer
    in the queue (other host); where neither can be known it stays RUNNING.
    """
    recorded = str(record.get("status", ""))
    if recorded != "running":
        return STATUS.get(recorded, "FAILED")
    if record.get("host") in (socket.gethostname(), socket.getfqdn()):
        alive = _process_lives(int(record.get("pid") or 0), str(record.get("born") or ""))
    else:
        alive = _slurm_lists(str(record.get("slurm_job") or ""))
    return "RUNNING" if alive else "KILLED"


def _process_lives(pid: int, born: str) -> bool:
    """Tell whether a process of this host works; with another `born` it only got an id that had become free."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # exists and belongs to someone else
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        state, started = fields[0], fields[19]
    except (OSError, IndexError):
        return True  # no Linux: nothing more can be known
    return state != "Z" and born in ("", started)


def _slurm_lists(job: str) -> bool:
    """Tell whether the queue still has the job; a queue that cannot be asked counts as yes."""
    if not job or shutil.which("squeue") is None:
        return True
    command = ["squeue", "--noheader", "--format=%T", f"--jobs={job}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=SQUEUE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return True
    if answer.returncode:
        return "Invalid job id" not in answer.stderr
    return answer.stdout.strip() in ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED")
