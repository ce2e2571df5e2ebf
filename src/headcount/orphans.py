"""Jobs that a killed workflow left in the queue of SLURM are named before another start works on the same runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from headcount.errors import UserError
from headcount.files import atomic_write

ALIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
"""States in which a job works or will: one that is only being cleared away does no harm."""


def refuse_orphans(record: Path, name: str) -> None:
    """Write down under which name this start submits, unless jobs of the start before it are alive.

    A late job of a killed workflow would delete the outputs that the new one has made, before it makes them again.

    Args:
        record: holds the name that all jobs of the study's last start have in SLURM.
        name: that of this start.

    Raises:
        UserError: such jobs are queued or run, or the queue cannot be read.

    """
    before = record.read_text(encoding="utf-8").strip() if record.is_file() else ""
    jobs = _alive(before) if before else []
    if jobs:
        listed = "\n".join(f"  {' '.join(job)}" for job in jobs)
        raise UserError(
            f"jobs of an earlier start of this study are still in the queue:\n{listed}\n"
            "cancel them (a training goes on from its last checkpoint) or wait until they are through, then start "
            f"again:\n  scancel {' '.join(job[0] for job in jobs)}"
        )
    record.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(record, name + "\n")


def _alive(name: str) -> list[list[str]]:
    """Return id, state and comment, which names rule and run, of the jobs of that name."""
    command = ["squeue", "--noheader", f"--name={name}", f"--states={ALIVE}", "--format=%i|%T|%k"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("squeue: no such program here; start this on a node from which jobs are submitted") from None
    if done.returncode:
        raise UserError(f"squeue does not answer, so nothing was started: {done.stderr.strip()}")
    return [line.split("|") for line in done.stdout.splitlines()]
