"""The journal of a run: one JSON line per report, appended while the run trains; free of torch."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headcount.errors import UserError
from headcount.files import atomic_write


class Journal:
    """Appends to a file of JSON lines; every line carries the `update` that it reports on.

    Args:
        path: of the file; its folder is made when needed.
        check_owner: called before each change; raises when the file belongs to another process by now.

    """

    def __init__(self, path: Path, *, check_owner: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._check_owner = check_owner

    def write(self, **values: Any) -> None:
        """Append one line and bring it to the disk; NaN and infinities become the texts that `finite_json` names.

        Raises:
            UserError: the line could not be written, for instance since the disk is full.

        """
        self._check_owner()
        line = json.dumps(finite_json(values), allow_nan=False, ensure_ascii=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8", newline="\n") as handle:
                handle.write(line + "\n")
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise UserError(f"{self.path}: cannot append to the journal: {error.strerror}") from None

    def rewind(self, update: int) -> list[dict[str, Any]]:
        """Drop every line after `update` and a half last line, as a run does that goes on from a checkpoint.

        Returns:
            the lines that stay.

        """
        if not self.path.exists():
            return []
        kept = [line for line in read(self.path) if line["update"] <= update]
        content = "".join(json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n" for line in kept)
        if content.encode() != self.path.read_bytes():
            self._check_owner()
            atomic_write(self.path, content)
        return kept


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal; the half last line of a killed or still running job is left out.

    Raises:
        UserError: a line in the middle is damaged.

    """
    *complete, _unfinished = path.read_text(encoding="utf-8", errors="replace").split("\n")
    lines = []
    for number, text in enumerate(complete, start=1):
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            line = None
        if not isinstance(line, dict):
            raise UserError(f"{path}: line {number} is not a JSON object; delete that line to go on")
        lines.append(line)
    return lines


def finite_json(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by the texts "NaN", "Infinity" and "-Infinity"."""
    if isinstance(value, Mapping):
        return {key: finite_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
