"""How Snakemake's SLURM executor watches its jobs: by squeue alone, steadily, and with an end for each job."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

PLUGIN = "snakemake_executor_plugin_slurm"

LOOKS = 3
"""So many lists of the queue without a job say that it is gone."""


class SteadyWatch:
    """Replace the parts of an executor by which it would lose jobs, or time.

    - It turns to sacct once the controller does not answer, and forgets its jobs where there is no accounting.
    - While no job ends it pauses ten seconds longer each time, up to three minutes, and so delays every job that waits
      for another one.
    - It waits for ever for a job that squeue does not list, because the job has ended unseen or its controller lost it.

    Args:
        executor: of Snakemake's plugin `slurm`.
        seconds: from one look at the queue to the next.

    """

    def __init__(self, executor: Any, seconds: float) -> None:
        plugin: Any = sys.modules[PLUGIN]  # loaded, for the executor is one of its
        plugin.is_query_tool_available = lambda tool: tool != "sacct"
        self._executor, self._ask, self._check = executor, plugin.query_job_status, executor.check_active_jobs
        self._listed: set[str] | None = None
        self._missed: Counter[str] = Counter()
        plugin.query_job_status = self._remember
        executor.check_active_jobs = self._still_active
        executor.sleep = lambda: asyncio.sleep(seconds)

    async def _remember(self, command: str, logger: Any) -> tuple[dict[str, str] | None, float | None]:
        """Ask for the states by job id; both parts are None where nobody answered."""
        states, took = await self._ask(command, logger)
        self._listed = None if states is None else {_number(job) for job in states}
        return states, took

    async def _still_active(self, jobs: list[Any]) -> AsyncIterator[Any]:
        """Yield the jobs that go on; report one as failed, to be submitted again, that the queue does not hold."""
        self._listed = None
        async for job in self._check(jobs):
            number = _number(job.external_jobid)
            if self._listed is not None:
                self._missed[number] = 0 if number in self._listed else self._missed[number] + 1
            if self._missed[number] < LOOKS:
                yield job
            else:
                del self._missed[number]  # a controller that begins anew gives its numbers again
                self._executor.report_job_error(
                    job, msg=f"SLURM-job '{number}' has left the queue unseen: ended or lost while nobody answered. "
                )


def _number(job: str) -> str:
    """Return the number of a job, for a task of an array that of the array: waiting tasks share a line."""
    return job.partition("_")[0]
