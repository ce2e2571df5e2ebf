"""Show a run in MLflow while it trains: a sync of its folder every few minutes, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "HEADCOUNT_TRACKING"
"""Environment variable with the study's tracking settings as JSON; unset or empty, nothing is synced.

An environment variable and no option, since an address or a rhythm must never make a training run again.
"""


@contextlib.contextmanager
def live_sync(run: Path) -> Iterator[None]:
    """Sync the run's folder every `tracking.sync_seconds` while the block is open; nothing here can stop a training."""
    settings = json.loads(os.environ.get(VARIABLE) or "{}")
    if not settings.get("enabled"):
        yield
        return
    study = run.parent.parent
    command = [sys.executable, "-m", "headcount", "track", "--study", str(study), "--uri", settings["uri"], run.name]
    done = threading.Event()

    def loop() -> None:
        while not done.wait(settings["sync_seconds"]):
            with contextlib.suppress(OSError):
                subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    thread = threading.Thread(target=loop, name="live sync", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
