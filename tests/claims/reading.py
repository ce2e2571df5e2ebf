"""Which settings of a claim its test reads, from the source of the test."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable


def read_by(test: Callable[..., object]) -> set[str]:
    """Return the settings that a test and the private functions it hands the claim to read."""
    source = inspect.getsource(test)
    module = inspect.getmodule(test)
    helpers = {getattr(module, name) for name in re.findall(r"(?<!def )\b(_\w+)\((?:tables, )?claim", source)}
    names = set(re.findall(r"claim\[[\"'](\w+)[\"']\]", source)).union(*map(read_by, helpers))
    return names | ({"half", "most"} if "claim[name]" in source else set())
