"""Whether a process of this machine is at work, and which one it is; free of torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

NONE = "-"
"""When a process began that is not there."""

DEAD = ("Z", "X")
"""States of a process that has ended and that its parent has not looked after yet."""


def born(pid: Any) -> str:
    """Return when a process began, in kernel ticks; with the id it names a process for good. `NONE`: none runs."""
    fields = _stat(pid)
    return NONE if fields is None or fields[0] in DEAD else fields[19]


def lives(pid: int, since: str = "") -> bool:
    """Tell whether a process works; with another `since` than when it was `born` it only got an id that was free."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # exists and belongs to someone else
    fields = _stat(pid)
    if fields is None:  # no Linux, or somebody else's: nothing more can be known
        return True
    return fields[0] not in DEAD and since in ("", fields[19])


def _stat(pid: Any) -> list[str] | None:
    """Return what the kernel tells of a process, from its state on; None where it tells nothing."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split() or None
