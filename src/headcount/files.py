"""Files that appear whole or not at all: written beside their name, flushed to disk, renamed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from headcount.errors import UserError

TEMPORARY = ".partial"
"""Suffix of files that are being written; such a file is never read and may be deleted."""


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is flushed and renamed to `path` when the block ends without an error.

    Raises:
        UserError: the disk is full; what stood at `path` before is untouched.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.replace(path)
    except (OSError, RuntimeError) as error:
        free = shutil.disk_usage(path.parent).free
        if (isinstance(error, OSError) and error.errno in (28, 122)) or free < 1 << 20:
            raise UserError(
                f"{path}: no space left on the disk ({free:,} bytes free); nothing was overwritten"
            ) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write text (UTF-8, LF) or bytes to `path` in one step."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
