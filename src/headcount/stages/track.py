"""Copy run folders into MLflow, and open its page."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import typer

from headcount.config import Study
from headcount.files import atomic_write
from headcount.tracking import store
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


def serve(study: Study, port: int) -> None:
    """Print the address of the study's runs and run MLflow's page until it is ended.

    Raises:
        UserError: nothing is tracked yet.

    """
    uri = study.tracking.uri
    typer.echo(f"open {store.page(study.study, uri, port)}   (Ctrl-C ends the server)", err=True)
    subprocess.run(store.ui_command(uri, port), check=False)
