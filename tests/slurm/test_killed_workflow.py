"""The workflow itself is killed without a word while its jobs run: what the next start says, and how it goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from one_node import OneNode, wait_until
from submitted import Training, Workflow, assert_as_undisturbed, attempts

pytestmark = pytest.mark.slurm


def test_the_next_start_names_the_lock_then_the_orphans_then_goes_on(cluster: OneNode, folder: Path, undisturbed: Path):
    both = [Training(folder, seed) for seed in (1, 2)]
    large = ["--set-resources", "train_baseline:gpu=1", "train_baseline:cpus_per_task=9", "--"]  # one fits on the node
    targets = [*large, *(training.target for training in both)]
    killed = Workflow(folder, "faults.yaml", *targets)
    wait_until("a training", lambda: any(training.started() for training in both), 120)
    running, waiting = sorted(both, key=Training.started, reverse=True)
    running.hold()
    killed.kill()

    locked = Workflow(folder, "faults.yaml", *targets)
    assert locked.status() == 1
    assert "--unlock" in locked.said()
    assert Workflow(folder, "faults.yaml", "--unlock").status() == 0

    refused = Workflow(folder, "faults.yaml", *targets)
    assert refused.status() == 1
    orphans = cluster.jobs()
    assert len(orphans) == 2
    assert f"scancel {' '.join(orphans)}" in refused.said()
    assert f"RUNNING rule_train_baseline_wildcards_{running.name}" in refused.said()
    cluster.ask("scancel", *orphans)

    last = Workflow(folder, "faults.yaml", *targets)
    assert last.status() == 0, last.said()
    assert_as_undisturbed(running, undisturbed, starts=2)
    assert_as_undisturbed(waiting, undisturbed, starts=1)


def test_a_second_trainer_is_refused_while_an_orphan_is_at_work(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    killed = Workflow(folder, "faults.yaml", training.target)
    orphan = training.hold()
    killed.kill()
    assert Workflow(folder, "faults.yaml", "--unlock").status() == 0
    (folder / "results/faults/logs/slurm-run").unlink()  # as if nobody could know of it
    following = Workflow(folder, "faults.yaml", training.target)
    wait_until("refusal", lambda: "has been working here" in "".join(attempts(folder, training)[1:]), 120)
    assert training.record()["pid"] == orphan  # nothing was written
    os.kill(orphan, signal.SIGKILL)
    assert following.status() == 0, following.said()
    assert_as_undisturbed(training, undisturbed, starts=2)
