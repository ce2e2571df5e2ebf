"""One process keeps MLflow current while a study runs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from toy_study import wait_until

from headcount.tracking import follow
from headcount.tracking.sync import Report


class Follower:
    """Runs `follow` with pretended syncs and waits; a step is what happens between two syncs."""

    def __init__(self, toy, monkeypatch):
        self.toy, self.steps = toy, []
        self.synced, self.pauses, self.told = [], [], []
        self.problems, self.cpu_seconds = [], 0.0
        monkeypatch.setattr(follow, "sync", self.sync)
        monkeypatch.setattr(follow, "_waited", self.waited)
        self.clock = 0.0
        monkeypatch.setattr(follow.time, "process_time", lambda: self.clock)

    def sync(self, study_folder, uri, names):
        assert (study_folder, uri) == (self.toy.folder, self.toy.uri)
        self.synced.append(names)
        self.clock += self.cpu_seconds
        return Report("toy", uri, created=list(names), problems=list(self.problems))

    def waited(self, seconds, goes_on):
        self.pauses.append(seconds)
        if not self.steps:
            return False
        self.steps.pop(0)()
        return True

    def run(self, *steps):
        self.steps = list(steps)
        follow.follow(self.toy.folder, self.toy.uri, 60, lambda: True, self.told.append)


@pytest.fixture
def follower(bare, monkeypatch):
    return Follower(bare, monkeypatch)


def nothing():
    pass


def test_only_what_has_changed_is_synced(follower, bare):
    follower.run(
        nothing,  # the study has not begun
        lambda: [bare.write("baseline-s1"), bare.write("entmax15-s1", "running")],
        nothing,
        lambda: bare.journal("baseline-s1", 60, 80),
        lambda: bare.write("entmax15-s1"),
        nothing,
        lambda: (bare.folder / "runs/baseline-s1/score.json").write_text("{}"),
    )
    assert follower.synced == [
        ["baseline-s1", "entmax15-s1"],
        ["entmax15-s1"],  # its process may be gone
        ["baseline-s1", "entmax15-s1"],
        ["entmax15-s1"],
        ["baseline-s1"],
    ]


def test_a_sync_that_did_not_work_is_told_once_and_tried_again(follower, bare):
    bare.write("baseline-s1")

    def down():
        follower.problems = ["http://host: the server does not answer"]

    def up():
        follower.problems = []

    follower.run(down, nothing, up, nothing)
    assert follower.synced == [["baseline-s1"]] * 3
    assert len(follower.told) == 1
    assert "the server does not answer" in follower.told[0]


def test_expensive_syncs_come_less_often(follower, bare):
    bare.write("baseline-s1", "running")
    follower.cpu_seconds = 3.0
    follower.run(nothing, nothing, nothing)
    assert follower.pauses == [60, 60, 3.0 / follow.SHARE, 3.0 / follow.SHARE]  # the first one also loads MLflow


def test_it_runs_beside_a_process_and_ends_with_it(toy, view):
    toy.write("baseline-s1", "running", 40)
    options = ["--study", str(toy.folder), f"--uri={toy.uri}", "--every", "1"]
    workflow = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    command = [sys.executable, "-m", "headcount", "track", *options, "--while", str(workflow.pid)]
    following = subprocess.Popen(command)
    try:
        wait_until(lambda: view.client.get_experiment_by_name("headcount/toy") and "baseline-s1" in view.live())
        assert view.live()["baseline-s1"].info.status == "RUNNING"
        toy.journal("baseline-s1", 40, 80)
        wait_until(lambda: len(view.curve("baseline-s1", "train/loss")) == 4)
        assert following.poll() is None
    finally:
        workflow.kill()
        workflow.communicate()
    assert following.wait(30) == 0
