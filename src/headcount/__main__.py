"""The command line: one verb for each rule, and a few for people; `headcount VERB --help` explains each."""

from __future__ import annotations

import sys
from typing import Any

import typer

from headcount.commands import app, log_as, people, rules
from headcount.errors import InterruptedRun, UserError

__all__ = ["app", "main", "people", "rules"]


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; what the user can repair ends with its message and an exit status of its own."""
    log_as("")
    try:
        app(arguments)
    except UserError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        sys.exit(error.status)
    except InterruptedRun as error:
        typer.echo(f"interrupted: {error}", err=True)
        sys.exit(error.status)


if __name__ == "__main__":
    main()
