"""Verbs of the command line in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def headcount(*arguments: str, **options: object) -> subprocess.Popen[str]:
    """Start a verb of the command line."""
    return subprocess.Popen(
        [sys.executable, "-m", "headcount", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,  # type: ignore[call-overload]
    )
