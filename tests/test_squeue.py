"""The executor of the real plugin, without a cluster: how it looks at its jobs, and what it makes of what it sees."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headcount.squeue import LOOKS, PLUGIN, SteadyWatch

plugin = pytest.importorskip(PLUGIN)

HOURS = 3600.0


class Patient(plugin.Executor):
    """An executor that wants to wait for hours between its looks, asks a queue of our making, and ends after some."""

    def __init__(self, answers: list[list[str] | None], jobs: list[str], submitted_again: Sequence[str]) -> None:
        settings = SimpleNamespace(seconds_between_status_checks=HOURS)
        common = SimpleNamespace(init_seconds_before_status_checks=0)
        self.workflow: Any = SimpleNamespace(
            remote_execution_settings=settings, executor_plugin=SimpleNamespace(common_settings=common)
        )
        self.lock, self.wait = threading.Lock(), True
        self.active_jobs = [SimpleNamespace(external_jobid=job) for job in jobs]
        self.submitted_again = [SimpleNamespace(external_jobid=job) for job in submitted_again]
        self.answers, self.lost = answers, []

    async def ask(self, command: str, logger: object) -> tuple[dict[str, str] | None, float | None]:
        answer = self.answers.pop(0)
        return (None, None) if answer is None else (dict.fromkeys(answer, "RUNNING"), 0.1)

    async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
        self.next_seconds_between_status_checks = HOURS
        await plugin.query_job_status("squeue", None)
        self.wait = bool(self.answers)
        for job in active_jobs:
            yield job  # as the plugin does with jobs that are listed as running, and with those that are not listed

    def report_job_error(self, job_info: Any, msg: str = "") -> None:
        self.lost.append((job_info.external_jobid, msg))
        self.active_jobs += self.submitted_again


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch):
    """Return a function that gives some answers to an executor, and returns it when it has heard them all."""
    monkeypatch.setattr(plugin, "is_query_tool_available", lambda tool: True)

    def runs(answers: list[list[str] | None], jobs: list[str], submitted_again: Sequence[str] = ()) -> Patient:
        executor = Patient(list(answers), jobs, submitted_again)
        monkeypatch.setattr(plugin, "query_job_status", executor.ask)
        SteadyWatch(executor, 0.0)
        asyncio.run(asyncio.wait_for(executor._wait_for_jobs(), timeout=60))
        return executor

    return runs


def test_it_looks_again_after_the_pause_that_was_asked_for(watched):
    assert watched([["1"]] * 5, ["1"]).answers == []


def test_it_does_not_turn_to_sacct(watched):
    watched([["1"]], ["1"])
    assert plugin.is_query_tool_available("squeue")
    assert not plugin.is_query_tool_available("sacct")


def test_a_job_that_the_queue_no_longer_holds_is_given_up_and_the_others_go_on(watched):
    executor = watched([["1", "2"], *[["2"]] * LOOKS, ["2"]], ["1", "2"])
    ((lost, message),) = executor.lost
    assert lost == "1"
    assert "SLURM-job '1' has left the queue unseen" in message
    assert [job.external_jobid for job in executor.active_jobs] == ["2"]


@pytest.mark.parametrize(
    ("answers", "job"),
    [
        ([["1"], *[None] * (LOOKS + 1)], "1"),  # nobody answers
        ([*[[], [], ["1"]] * LOOKS], "1"),  # seen again and again
        ([["4_[1-7]"]] * (LOOKS + 1), "4_5"),  # a task of an array that waits
    ],
)
def test_a_job_is_not_given_up_for_silence_or_for_being_late(watched, answers: list[list[str] | None], job: str):
    executor = watched(answers, [job])
    assert executor.lost == []
    assert [kept.external_jobid for kept in executor.active_jobs] == [job]


def test_a_number_that_a_new_controller_gives_again_is_another_job(watched):
    executor = watched([*[[]] * LOOKS, None, ["1"]], ["1"], submitted_again=["1"])
    assert len(executor.lost) == 1
    assert [kept.external_jobid for kept in executor.active_jobs] == ["1"]
