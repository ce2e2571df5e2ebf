"""One smoke study for all tests of the workflow and of its pages, run through Snakemake in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "configs" / "smoke.yaml"

SLOW = {"slurm": "cluster", "workflow": "smoke", "browser": "smoke"}
"""Folders of tests whose common fixture takes minutes to make: all of them run in one process, and first."""

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share the tests out among processes by file, as fixtures of a file are made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the slow folders where several processes share the tests."""
    if hasattr(config, "workerinput"):
        groups = list(SLOW.values())
        items.sort(key=lambda item: groups.index(group) if (group := _group(item.nodeid)) in groups else len(groups))


def _group(nodeid: str) -> str:
    path = nodeid.split("::")[0]
    return SLOW.get(Path(path).parent.name, path)


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
