"""The command line's verbs: what they take and which stage they call; `app` collects them."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from headcount import config

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="How many attention heads does a translation model need?",
)

Configs = Annotated[
    list[Path] | None,
    typer.Option("--configfile", help="override files; later ones win, mappings are merged"),
]
Out = Annotated[Path, typer.Option(help="where the result is written")]
StudyFolder = Annotated[Path, typer.Option("--study", help="folder of the study, results/<study>")]

DEFAULT_CONFIG = Path("config.yaml")


def read_study(files: list[Path] | None) -> config.Study:
    """Read `config.yaml` of the working folder with the overrides."""
    return config.read(DEFAULT_CONFIG, *(files or []))


def log_as(prefix: str) -> None:
    """Log to the terminal, each line with its time and a prefix."""
    logging.basicConfig(
        format=f"%(asctime)s {prefix}%(message)s", datefmt="%H:%M:%S", level=logging.INFO, stream=sys.stderr, force=True
    )
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # tells of every glyph that a PDF takes over
