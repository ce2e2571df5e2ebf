"""What MLflow says of trainings that end in every way there is: real processes, a real store."""

from __future__ import annotations

import json
import os
import time

import pytest
from pretended_training import ENDS, let_end, start, wait_for_updates

from headcount import plan

RUN = "baseline-s1"


@pytest.fixture
def train(toy):
    settings = plan.runs(toy.study)[RUN].settings

    def begin(first, last, end):
        training = start(toy.folder / "runs" / RUN, settings, first, last, end)
        wait_for_updates(training)
        return training

    return begin


@pytest.mark.parametrize("end", ENDS)
def test_every_end_is_told_and_a_run_goes_on_where_it_stood(toy, view, train, end):
    training = train(0, 100, end)
    assert toy.sync(RUN).created == [RUN]
    first = view.live()[RUN].info
    assert (first.status, first.end_time) == ("RUNNING", None)
    assert (let_end(training, end) == 0) == (end == "alone")
    assert toy.sync(RUN).updated == [RUN]
    last = view.live()[RUN].info
    assert last.status == ENDS[end]
    assert first.start_time < last.end_time <= time.time() * 1000
    if end == "alone":
        return
    training = train(60, 200, "alone")  # from its last checkpoint
    assert toy.sync(RUN).updated == [RUN]
    assert view.live()[RUN].info.status == "RUNNING"
    let_end(training, "alone")
    toy.sync(RUN)
    assert view.curve(RUN, "train/loss") == [(update, 8 / update) for update in range(20, 201, 20)]
    assert view.live()[RUN].info.status == "FINISHED"
    assert view.live()[RUN].info.run_id == first.run_id
    assert view.deleted() == []


def test_a_node_that_is_lost_without_a_word(toy, view, train):
    let_end(train(0, 100, "KILL"), "KILL")
    folder = toy.folder / "runs" / RUN
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"host": "node-07", "pid": 1}))
    os.utime(folder / "owner.lock")
    toy.sync(RUN)
    assert view.live()[RUN].info.status == "RUNNING"  # nothing is known yet
    silent = time.time() - 3600
    os.utime(folder / "owner.lock", (silent, silent))
    assert toy.sync(RUN).updated == [RUN]
    assert view.live()[RUN].info.status == "KILLED"
    assert view.curve(RUN, "train/loss") == [(update, 8 / update) for update in range(20, 101, 20)]
