"""One part in a process of its own: `python -m benchmarks.part MODULE NAME...` prints progress and lines as JSON."""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.environments import ROOT


def versions() -> dict[str, str]:
    """Return what ran: commit, packages, processor."""
    return {
        "headcount": commit(),
        "torch": version("torch"),
        "python": platform.python_version(),
        "cpu": processor(Path("/proc/cpuinfo")),
    }


def commit() -> str:
    """Return the short hash of the commit, with a plus where files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    # the results themselves are written by this very run
    changed = git("status", "--porcelain", "--", ".", ":!benchmarks/results", ":!benchmarks/README.md")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def processor(cpuinfo: Path) -> str:
    """Return the model name of the processor."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def main(module: str, names: tuple[str, ...]) -> None:
    """Run the comparison and print its lines."""
    lines = importlib.import_module(f"benchmarks.{module}").compare(names)
    for line in lines:
        sys.stdout.write(json.dumps(line.record(versions()), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], tuple(sys.argv[2:]))
