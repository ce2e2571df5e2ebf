"""Which code, versions and machine made a result; free of torch."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors")
"""Packages whose version can change a number."""


def git(folder: Path) -> dict[str, Any]:
    """Return the commit of the checkout that holds `folder` and whether `folder` differs from it.

    Without git, or outside of a checkout, the commit is "".
    """
    commit = _ask_git(folder, "rev-parse", "HEAD")
    return {"commit": commit, "dirty": bool(commit and _ask_git(folder, "status", "--porcelain", "--", "."))}


def _ask_git(folder: Path, *arguments: str) -> str:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def versions() -> dict[str, str]:
    """Return the versions of Python and of `PACKAGES`; "" for one that is not installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = ""
    return found


def hardware() -> dict[str, Any]:
    """Return the processor's name, the cores this process may use, memory in GiB and the names of the GPUs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
        "memory_gib": round(memory, 1),
        "gpus": _gpus(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _gpus() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.splitlines()
