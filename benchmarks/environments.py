"""Where the two sides run: a Python environment for each peer, made when it is missing, and equal variables for all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from headcount.jobs import ENVIRONMENT

HERE = Path(__file__).parent
ROOT = HERE.parent
WORK = HERE / ".work"
"""Corpora, models, settings and logs; may be deleted at any time."""

THREADS = 1


def variables() -> dict[str, str]:
    """Return the environment of every side of every comparison, with the allocator's settings of a job."""
    own = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(THREADS))
    return {**own, **threads, **ENVIRONMENT, "PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false"}


def python_of(peer: str) -> Path:
    """Return the interpreter of a peer's environment, or this one for `ours`."""
    return Path(sys.executable) if peer == "ours" else HERE / ".venvs" / peer / "bin" / "python"


def make(peer: str, log: Path) -> None:
    """Build the environment of a peer, unless it is there with the very pins of the repository.

    `requirements.txt` lists every package. What refuses the pinned torch in its metadata, though it works with it,
    stands in `requirements-alone.txt` and is installed without its dependencies.

    Raises:
        subprocess.CalledProcessError: pip failed; its output is in `log`.

    """
    if peer == "ours":
        return
    files = [path for path in _requirements(peer) if path.is_file()]
    pins = "".join(path.read_text(encoding="utf-8") for path in files)
    folder = HERE / ".venvs" / peer
    done = folder / ".pins"
    if done.is_file() and done.read_text(encoding="utf-8") == pins:
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as out:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, stdout=out, stderr=out)
        for path in files:
            alone = ["--no-deps"] if path.stem.endswith("alone") else []
            command = [python_of(peer), "-m", "pip", "install", "--disable-pip-version-check", *alone, "-r", path]
            subprocess.run(command, check=True, stdout=out, stderr=out)
    done.write_text(pins, encoding="utf-8")


def _requirements(peer: str) -> tuple[Path, Path]:
    folder = HERE / "peers" / peer
    return folder / "requirements.txt", folder / "requirements-alone.txt"
