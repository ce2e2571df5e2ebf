"""One cluster for all tests of this folder, and an undisturbed study to compare with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from one_node import OneNode
from submitted import Training, Workflow


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneNode]:
    node = OneNode(tmp_path_factory.mktemp("slurm"))
    try:
        node.start()
        yield node
    finally:
        node.stop()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of both trainings, made on this machine and without SLURM."""
    folder = tmp_path_factory.mktemp("undisturbed")
    targets = [Training(folder, seed).target for seed in (1, 2)]
    workflow = Workflow(folder, "faults.yaml", "--cores", "2", *targets, profiles=("--workflow-profile", "none"))
    assert workflow.status() == 0, workflow.said()
    return folder


@pytest.fixture
def folder(cluster: OneNode, undisturbed: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a folder with the prepared corpus and nothing else; no job may be left when the test is through."""
    shutil.copytree(undisturbed / "results/faults/data", tmp_path / "results/faults/data")
    yield tmp_path
    while Workflow.started:  # of a test that failed: it would submit its jobs again beside those of the next test
        Workflow.started.pop().kill()
    left = cluster.jobs()
    if left:
        cluster.ask("scancel", *left)
    cluster.bring_node_back()
    assert left == []
