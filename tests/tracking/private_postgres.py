"""A PostgreSQL of the tests' own, in a temporary folder, reached by a socket in it and by nobody else."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from needs import needs

USER = "postgres"
"""Whom the server runs as where root runs the tests, which PostgreSQL refuses; Debian's package makes this user."""


class Postgres:
    def __init__(self, folder: Path, initdb: str, pg_ctl: str) -> None:
        self.folder, self._pg_ctl = folder, pg_ctl
        self._as = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, USER)
        self._run(initdb, "-D", f"{folder}/data", "-U", "headcount", "--auth=trust", "--no-sync", "-E", "UTF8")
        self.uri = f"postgresql://headcount@/postgres?host={folder}"

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self._run(self._pg_ctl, "-D", f"{self.folder}/data", "-o", options, "-l", f"{self.folder}/log", "-w", "start")

    def stop(self) -> None:
        self._run(self._pg_ctl, "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            [*self._as, *command],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # no pipe: the server would hold it open
            stderr=subprocess.STDOUT,
            check=False,
        )
        assert done.returncode == 0, command


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """Yield a running server; skip where PostgreSQL is not installed."""
    programs = needs("initdb", "pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short, since the path of a socket may have 107 characters
    try:
        server = Postgres(folder, *programs)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
