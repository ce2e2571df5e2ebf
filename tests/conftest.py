"""One smoke study for all tests of the workflow and of its pages, run through Snakemake in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "configs" / "smoke.yaml"

SLOW = ("cluster", "smoke")
"""Fixtures that take minutes to make: all tests with one of them run in the same process, and first."""

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Share the tests out among the processes of pytest-xdist by file, as fixtures of a file are made once."""
    if not hasattr(config, "workerinput"):
        return
    groups = {item: next((name for name in SLOW if name in _fixtures(item)), str(item.path)) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: SLOW.index(groups[item]) if groups[item] in SLOW else len(SLOW))


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def run_snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this project's workflow with `folder` as the working folder."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("OMP_NUM_THREADS", None)
    return subprocess.run(
        ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder), *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


@pytest.fixture(scope="session")
def snakemake() -> Snakemake:
    return run_snakemake


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the working folder of a finished smoke study."""
    folder = tmp_path_factory.mktemp("smoke")
    done = run_snakemake(folder, "--configfile", str(SMOKE), "--cores", "2")
    assert done.returncode == 0, done.stdout[-5000:]
    return folder


@pytest.fixture(scope="session")
def report(smoke: Path) -> Path:
    """Return the HTML report of the smoke study."""
    page = smoke / "report.html"
    done = run_snakemake(smoke, "--configfile", str(SMOKE), "--report", str(page))
    assert done.returncode == 0, done.stdout[-3000:]
    return page
