"""The command line: one verb for each rule, and a few for people; `headcount VERB --help` explains each."""

from __future__ import annotations

import sys
from typing import Any

import typer

from headcount.commands import app, log_as, people, rules
from headcount.errors import InterruptedRun, UserError

__all__ = ["app", "main", "people", "rules"]

TEMPORARY_FAILURE = 75
"""Exit status of a run that was interrupted, saved its state and can be started again (sysexits' EX_TEMPFAIL)."""


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; a user's mistake ends with its message and status 2."""
    log_as("")
    try:
        app(arguments)
    except UserError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        sys.exit(2)
    except InterruptedRun as error:
        typer.echo(f"interrupted: {error}", err=True)
        sys.exit(TEMPORARY_FAILURE)


if __name__ == "__main__":
    main()
