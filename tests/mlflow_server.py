"""MLflow servers of the tests' own, and how one knows that they are ready."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

START_SECONDS = 120


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving(command: Sequence[str], port: int, log: Path) -> Iterator[str]:
    """Run a command that serves MLflow on a port; yield its address once it answers."""
    address = f"http://127.0.0.1:{port}"
    with log.open("w") as out, subprocess.Popen(command, cwd=log.parent, stdout=out, stderr=out) as process:
        try:
            until = time.monotonic() + START_SECONDS
            while not _answers(f"{address}/health"):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _answers(address: str) -> bool:
    try:
        return bool(urllib.request.urlopen(address, timeout=5).read() == b"OK")
    except OSError:
        return False
