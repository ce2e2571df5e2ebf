"""What happens to jobs on a cluster: nothing is lost, nothing is made twice, and the models are those of a calm day."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
from one_node import OneNode, wait_until
from submitted import Training, Workflow, assert_as_undisturbed, attempts

pytestmark = pytest.mark.slurm


def test_a_failing_job_is_named_and_the_others_go_on(cluster: OneNode, folder: Path, undisturbed: Path):
    failing, other = Training(folder, 2), Training(folder, 1)
    (failing.folder / "journal.jsonl").mkdir(parents=True)  # no file can be written there
    translated = str(other.folder.relative_to(folder) / "test.hypotheses")
    workflow = Workflow(folder, "faults.yaml", "--retries", "1", failing.target, translated)
    pid = other.hold()
    wait_until("both attempts have failed", lambda: workflow.said().count("'FAILED'") == 2, 180)
    os.kill(pid, signal.SIGCONT)
    assert workflow.status() == 1
    assert len(attempts(folder, failing)) == 2
    assert f"results/faults/logs/train/{failing.name}.log" in workflow.said()
    assert (folder / translated).is_file()  # a job that was submitted after the failure
    assert_as_undisturbed(other, undisturbed, starts=1)


def test_a_node_without_the_gpu_that_was_asked_for_trains_nothing(cluster: OneNode, folder: Path):
    training = Training(folder, 1)
    workflow = Workflow(folder, "faults.yaml", "--retries", "0", training.target, override="training: {device: cuda}")
    assert workflow.status() == 1
    assert "training.device: cuda" in workflow.said()
    assert not (training.folder / "checkpoints").exists()


def test_a_job_over_its_time_limit_gets_more_and_goes_on(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    minutes = ["--set-resources", "train_baseline:runtime=attempt*1", "--"]
    workflow = Workflow(folder, "faults.yaml", *minutes, training.target)
    training.hold()
    (first,) = cluster.jobs("train_baseline")
    assert cluster.shown(first)["TimeLimit"] == "00:01:00"
    assert workflow.status() == 0, workflow.said()
    assert "'TIMEOUT'" in workflow.said()
    second = training.record()["slurm_job"]
    assert cluster.shown(second)["TimeLimit"] == "00:02:00"
    assert_as_undisturbed(training, undisturbed, starts=2)


def test_a_cancelled_job_is_submitted_again(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    workflow = Workflow(folder, "faults.yaml", training.target)
    pid = training.hold()
    environment = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    assert "CUDA_VISIBLE_DEVICES=0" in environment  # the GPU that the profile asks for
    (job,) = cluster.jobs("train_baseline")
    cluster.ask("scancel", job)
    assert workflow.status() == 0, workflow.said()
    assert "'CANCELLED'" in workflow.said()
    assert_as_undisturbed(training, undisturbed, starts=2)


def test_a_job_out_of_memory_gets_more(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    little = ["--set-resources", "train_baseline:mem_mb=250+(attempt-1)*4000", "--"]
    workflow = Workflow(folder, "faults.yaml", *little, training.target)
    assert workflow.status() == 0, workflow.said()
    first, _ = attempts(folder, training)
    assert re.search(r"oom-kill|[Ee]xceeded.*memory limit", first), first
    assert_as_undisturbed(training, undisturbed, starts=1)


def test_a_lost_node_comes_back(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    workflow = Workflow(folder, "faults.yaml", training.target)
    training.hold()
    (job,) = cluster.jobs("train_baseline")
    cluster.take_node_down()
    try:
        wait_until("the job was put back", lambda: cluster.shown(job)["Restarts"] == "1")
    finally:
        cluster.bring_node_back()
    assert workflow.status() == 0, workflow.said()
    assert_as_undisturbed(training, undisturbed, starts=2)


def test_a_preempted_job_is_started_again_by_slurm_alone(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    workflow = Workflow(folder, "faults.yaml", training.target)
    training.hold()
    (job,) = cluster.jobs("train_baseline")
    cluster.ask("scontrol", "requeue", job)
    assert workflow.status() == 0, workflow.said()
    assert training.record()["slurm_job"] == job  # and Snakemake submitted no second one
    assert len(attempts(folder, training)) == 1
    assert_as_undisturbed(training, undisturbed, starts=2)


def test_a_controller_that_is_away_is_waited_for(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    workflow = Workflow(folder, "faults.yaml", training.target)
    pid = training.hold()
    cluster.stop_controller()
    try:
        os.kill(pid, signal.SIGCONT)  # the job ends while nobody can be asked
        wait_until("end of the training", lambda: training.record()["status"] == "finished")
        time.sleep(50)  # longer than Snakemake asks by itself: five times
    finally:
        cluster.start_controller()
    assert workflow.status(120) == 0, workflow.said()
    assert_as_undisturbed(training, undisturbed, starts=1)


def test_a_job_that_the_controller_lost_is_submitted_again(cluster: OneNode, folder: Path, undisturbed: Path):
    training = Training(folder, 1)
    workflow = Workflow(folder, "faults.yaml", training.target)
    training.hold()
    cluster.stop_controller()
    cluster.forget_jobs()
    cluster.start_controller()
    assert workflow.status() == 0, workflow.said()
    assert "has left the queue unseen" in workflow.said()
    assert_as_undisturbed(training, undisturbed, starts=2)
