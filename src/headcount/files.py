"""Files that appear whole or not at all: written beside their name, flushed to disk, renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from headcount.errors import UserError

TEMPORARY = ".partial"
"""Suffix of files that are being written; such a file is never read and may be deleted."""

FULL = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "no space left in the quota",
    errno.EFBIG: "larger than this process may write, see ulimit -f",
}
"""What stops a write that would have been right."""


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is flushed and renamed to `path` when the block ends without an error.

    Raises:
        UserError: the disk or a quota is full; what stood at `path` before is untouched.

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
        limit = FULL.get(error.errno or 0) if isinstance(error, OSError) else None
        if limit is None and free >= 1 << 20:
            raise
        raise UserError(
            f"{path}: {limit or FULL[errno.ENOSPC]} ({free:,} bytes free); nothing was overwritten"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write text (UTF-8, LF) or bytes to `path` in one step."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
