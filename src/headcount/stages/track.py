"""Copy run folders into MLflow, and open its page."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from dataclasses import asdict
from pathlib import Path

import typer

from headcount.config import Study
from headcount.errors import UserError
from headcount.files import atomic_write
from headcount.processes import lives
from headcount.tracking import store
from headcount.tracking.address import is_server
from headcount.tracking.follow import follow
from headcount.tracking.sync import sync


def track(study: Path, names: list[str] | None, uri: str, receipt: Path | None) -> bool:
    """Sync the named runs, or all of them with the summary; return whether everything arrived.

    With a `receipt` the sync always counts as done: a tracking server that is down must not fail a study, and the
    receipt says what is missing.
    """
    report = sync(study, uri, names)
    typer.echo(str(report), err=True)
    if receipt:
        atomic_write(receipt, json.dumps(asdict(report), indent=2) + "\n")
    return bool(receipt) or not report.exit_code


def keep_current(study: Path, uri: str, every_seconds: int, process: int) -> None:
    """Sync what changes in a study every so many seconds, until `process` has ended or, where that is 0, Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        follow(
            study,
            uri,
            every_seconds,
            lambda: not process or lives(process),
            lambda line: typer.echo(line, err=True),
        )


def serve(study: Study, port: int) -> None:
    """Say where the study's runs are in the browser; of a database run MLflow's page until Ctrl-C.

    Raises:
        UserError: nothing is tracked yet, or the port is taken.

    """
    uri = study.tracking.uri
    address = store.page(study.study, uri, port)
    if is_server(uri):
        typer.echo(f"open {address}")
        return
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        raise UserError(f"port {port} is taken, perhaps by another MLflow; choose one: headcount ui --port {port + 1}")
    with contextlib.suppress(KeyboardInterrupt), subprocess.Popen(store.ui_command(uri, port)) as server:
        typer.echo("MLflow is starting, which takes some seconds ...", err=True)
        while server.poll() is None and not _answers(f"http://127.0.0.1:{port}/health"):
            time.sleep(0.5)
        if server.poll() is None:
            typer.echo(f"open {address}   (Ctrl-C ends the server)", err=True)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5.0) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
