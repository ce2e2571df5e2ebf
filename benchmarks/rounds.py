"""Take turns: ours, the peer, ours, the peer; and what comes of it, one line of the table."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.environments import ROOT, python_of, variables

Result = dict[str, Any]
"""What a side prints as its last line."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the environment it needs, and the arguments of its Python."""

    peer: str
    arguments: Sequence[str]

    def run(self) -> Result:
        """Run the side in a process of its own and return the JSON object of its last line.

        Raises:
            RuntimeError: it failed, or printed something else; what it said went to this process's stderr.

        """
        command = [str(python_of(self.peer)), *self.arguments]
        done = subprocess.run(command, cwd=ROOT, env=variables(), stdout=subprocess.PIPE, text=True, check=False)
        lines = done.stdout.splitlines()
        if done.returncode or not lines or not lines[-1].startswith("{"):
            sys.stderr.write("\n".join(lines[-20:]) + "\n")
            raise RuntimeError(f"{self.peer}: {' '.join(self.arguments)} ended with status {done.returncode}")
        result: Result = json.loads(lines[-1])
        return result


def alternate(sides: Sequence[Side], rounds: int) -> list[list[Result]]:
    """Run the sides one after the other, `rounds` times; return what they printed by side and round.

    A side that fails is left out from then on and has no results; without the first one there is nothing to compare.
    """
    results: list[list[Result]] = [[] for _ in sides]
    failed: set[int] = set()
    for number in range(rounds):
        for index, side in enumerate(sides):
            if index in failed:
                continue
            try:
                results[index].append(side.run())
            except RuntimeError as error:
                if index == 0:
                    raise
                sys.stderr.write(f"{error}\n")
                failed.add(index)
        tell_round(number + 1, rounds)
    return [[] if index in failed else own for index, own in enumerate(results)]


def tell_round(done: int, of: int) -> None:
    """Tell the process that started this one how far the comparison is."""
    sys.stdout.write(json.dumps({"round": done, "rounds": of}) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Line:
    """A result: rates of both sides by round, the larger the faster.

    Attributes:
        name: of the comparison.
        unit: of both rates.
        ours: a rate for each round.
        peer: the peer's rate in the same round.
        conditions: what was compared, and what was not equal, for people.
        peer_version: of what was compared with; empty where it is headcount itself.

    """

    name: str
    unit: str
    ours: Sequence[float]
    peer: Sequence[float]
    conditions: dict[str, str] = field(default_factory=dict)
    peer_version: str = ""

    def record(self, versions: dict[str, str]) -> dict[str, Any]:
        """Return the JSON object: medians of both sides, median and range of the ratios within a round."""
        ratios = [mine / theirs for mine, theirs in zip(self.ours, self.peer, strict=True)]
        return {
            "name": self.name,
            "ours": _rounded(statistics.median(self.ours)),
            "peer": _rounded(statistics.median(self.peer)),
            "ratio": _rounded(statistics.median(ratios)),
            "unit": self.unit,
            "low": _rounded(min(ratios)),
            "high": _rounded(max(ratios)),
            "conditions": {**self.conditions, "rounds": str(len(ratios))},
            "versions": {**versions, **({"peer": self.peer_version} if self.peer_version else {})},
        }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
