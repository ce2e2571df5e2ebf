"""The command line: one verb for each rule, and a few for people; `headcount VERB --help` explains each."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from headcount.commands import app, log_as, people, rules
from headcount.errors import InterruptedRun, UserError
from headcount.train.torchrun import is_rank

__all__ = ["app", "main", "people", "rules"]


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; what the user can repair ends with its message and an exit status of its own."""
    log_as("")
    try:
        app(arguments)
    except UserError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        _leave(error.status)
    except InterruptedRun as error:
        typer.echo(f"interrupted: {error}", err=True)
        _leave(error.status)


def _leave(status: int) -> None:
    """Exit; as a rank of a training without the interpreter's clearing up, which aborts over its open connections."""
    if is_rank():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
