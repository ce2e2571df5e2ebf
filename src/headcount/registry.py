"""Plugins by folder listing: the files of a sub-package are the allowed names; free of torch."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headcount.errors import UserError

PACKAGE = Path(__file__).parent


def names(package: str) -> tuple[str, ...]:
    """List the plugins of a sub-package such as `model.normalise`, without importing them."""
    folder = PACKAGE.joinpath(*package.split("."))
    return tuple(sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")))


def load(package: str, name: str) -> Any:
    """Import the plugin `name` of a sub-package.

    Raises:
        UserError: no file of that name; the message gives the nearest one and all allowed names.

    """
    allowed = names(package)
    if name not in allowed:
        raise UserError(f"{package}: {name!r} is unknown{nearest(name, allowed)}; allowed: {', '.join(allowed)}")
    return importlib.import_module(f"headcount.{package}.{name}")


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the closest allowed name, or nothing."""
    close = difflib.get_close_matches(str(name), list(allowed), n=1, cutoff=0.4)
    return f"; did you mean {close[0]!r}?" if close else ""
