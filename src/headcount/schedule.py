"""When jobs with parents end on so many workers, and which chain of them decides it at best; any unit of time."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter


def critical_path(seconds: Mapping[str, float], parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the longest chain of jobs, first job first: no number of workers is faster than the sum of it."""
    reach: dict[str, float] = {}  # job -> seconds until its end, if nothing has to wait for a worker
    before: dict[str, str] = {}
    for job in TopologicalSorter({job: parents[job] for job in seconds}).static_order():
        last = max(parents[job], key=lambda parent: reach[parent], default=None)
        reach[job] = seconds[job] + (reach[last] if last else 0.0)
        if last:
            before[job] = last
    chain = [max(reach, key=lambda job: reach[job])] if reach else []
    while chain and chain[-1] in before:
        chain.append(before[chain[-1]])
    return chain[::-1]


def wall_seconds(
    seconds: Mapping[str, float], parents: Mapping[str, Sequence[str]], priority: Mapping[str, int], workers: int
) -> float:
    """Simulate list scheduling: a free worker takes the ready job of the highest priority, of equals the first listed.

    Args:
        seconds: of each job.
        parents: of each job, all of them jobs.
        priority: of each job.
        workers: jobs side by side.

    Returns:
        When the last job ends.

    """
    place = {job: number for number, job in enumerate(seconds)}
    graph = TopologicalSorter({job: parents[job] for job in seconds})
    graph.prepare()
    ready: list[tuple[int, int, str]] = []
    running: list[tuple[float, str]] = []
    now = 0.0
    while graph.is_active():
        for job in graph.get_ready():
            heapq.heappush(ready, (-priority[job], place[job], job))
        while ready and len(running) < workers:
            job = heapq.heappop(ready)[2]
            heapq.heappush(running, (now + seconds[job], job))
        now, job = heapq.heappop(running)
        graph.done(job)
    return now
