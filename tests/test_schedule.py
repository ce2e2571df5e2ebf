"""List scheduling and the critical path, on graphs made by hand."""

from __future__ import annotations

import pytest

from headcount.schedule import critical_path, wall_seconds

SECONDS = {"corpus": 1.0, "dense": 4.0, "sparse": 5.0, "round": 1.0, "ticket": 3.0, "report": 1.0}
PARENTS = {
    "corpus": (),
    "dense": ("corpus",),
    "sparse": ("corpus",),
    "round": ("dense",),
    "ticket": ("round", "dense"),
    "report": ("ticket", "sparse"),
}
EQUAL = dict.fromkeys(SECONDS, 0)


def test_the_critical_path_is_the_longest_chain_of_parents():
    assert critical_path(SECONDS, PARENTS) == ["corpus", "dense", "round", "ticket", "report"]
    assert critical_path({**SECONDS, "sparse": 20.0}, PARENTS) == ["corpus", "sparse", "report"]
    assert critical_path({}, {}) == []


def test_a_long_job_that_nothing_reads_may_be_the_critical_path():
    assert critical_path({**SECONDS, "other": 99.0}, {**PARENTS, "other": ()}) == ["other"]


@pytest.mark.parametrize(("workers", "expected"), [(1, 15.0), (2, 10.0), (3, 10.0), (64, 10.0)])
def test_no_number_of_workers_beats_the_critical_path(workers: int, expected: float):
    assert wall_seconds(SECONDS, PARENTS, EQUAL, workers) == expected


def test_the_ready_job_of_the_highest_priority_goes_first():
    seconds = {"short": 1.0, "other": 1.0, "long": 6.0, "last": 1.0}
    parents = {"short": (), "other": (), "long": (), "last": ("long",)}
    level = dict.fromkeys(seconds, 0)
    assert wall_seconds(seconds, parents, level, 2) == 1.0 + 6.0 + 1.0  # in the order of the list
    assert wall_seconds(seconds, parents, {**level, "long": 1}, 2) == 6.0 + 1.0


def test_a_job_waits_for_all_of_its_parents():
    seconds = {"child": 1.0, "fast": 1.0, "slow": 5.0}
    parents = {"child": ("fast", "slow"), "fast": (), "slow": ()}
    assert wall_seconds(seconds, parents, dict.fromkeys(seconds, 0), 3) == 6.0
