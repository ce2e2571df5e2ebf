"""How settings and journal values are written for MLflow: names, canonical text, reduced numbers; pure functions.

The rule for names: characters other than ASCII letters, digits, `_ - . /` and the space become `_` (accents are
dropped first), an empty, `.` or `..` part of a path becomes `_`, and a name that had to be changed or cut gets the
first six hex digits of its SHA-256, so that two names never fall together.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_NAME = 200
LONGEST_VALUE = 500
"""Characters of a parameter; longer ones are stored whole as a file (old servers cut at 500, new ones at 6000)."""

NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How the journal writes numbers that JSON does not have."""

_LARGEST_EXACT = 2.0**53


def digest(content: str | bytes) -> str:
    """Return the SHA-256 of text or bytes in hex."""
    return hashlib.sha256(content.encode("utf-8") if isinstance(content, str) else content).hexdigest()


def safe_name(name: str) -> str:
    """Map any name to one that every MLflow store accepts, by the rule of this module."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    plain = re.sub(r"[^A-Za-z0-9_\-./ ]", "_", plain)
    plain = "/".join(part if part.strip(". ") else "_" for part in plain.split("/"))
    if plain == name and len(name) <= LONGEST_NAME:
        return name
    return f"{plain[:LONGEST_NAME]}_{digest(name)[:6]}"


def metric_name(key: str) -> str:
    """Name a journal key as a metric: a key without a section (`loss`) belongs to `train/`."""
    return safe_name(key if "/" in key else f"train/{key}")


def canonical(value: Any) -> str:
    """Write a value in its one form: 7.0 is `7`, keys are sorted, text stays as it is."""
    if isinstance(value, str):
        return value
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested settings by dots; lists and empty mappings stay values."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def numbers(key: str, value: Any) -> Iterator[tuple[str, float]]:
    """Reduce a journal value to named numbers.

    A number stays itself; a nested value such as the gates of all heads becomes its `/mean`, `/min` and `/max`, and
    for a mapping also the mean of each entry; text, truth values and null give nothing.
    """
    if isinstance(value, Mapping | list):
        leaves = list(_leaves(value))
        if not leaves:
            return
        if isinstance(value, Mapping):
            for name, part in value.items():
                inner = list(_leaves(part))
                if inner:
                    yield f"{key}/{name}", sum(inner) / len(inner)
        yield f"{key}/mean", sum(leaves) / len(leaves)
        if any(math.isnan(leaf) for leaf in leaves):  # min and max would depend on the order
            return
        yield f"{key}/min", min(leaves)
        yield f"{key}/max", max(leaves)
    else:
        yield from ((key, leaf) for leaf in _leaves(value))


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, str):
        if value in NON_FINITE:
            yield NON_FINITE[value]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        return int(value)
    return value
