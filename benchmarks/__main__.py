"""`python -m benchmarks [NAME...]`: measure all comparisons or those that are named, then write results and README."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.environments import ROOT, WORK, make, variables
from benchmarks.parts import NONE, Part, chosen
from headcount.errors import UserError

LOGS = WORK / "logs"
TELL_SECONDS = 10.0
"""Shortest time between two lines about the same part."""

LAST_LINES = 15
"""Of the log of a comparison that failed, shown on the terminal."""


def run(part: Part, log: Path, clock: Clock) -> list[results.Record]:
    """Run a part in its own process; return its lines, which may be fewer than it was asked for."""
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.part", part.module, *part.names],
            cwd=ROOT,
            env=variables(),
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
        )
        assert process.stdout is not None
        records = []
        for line in process.stdout:
            if not line.startswith("{"):  # something that a library says
                continue
            said = json.loads(line)
            if "round" in said:
                clock.tell(part, said["round"], said["rounds"])
            else:
                records.append(said)
        process.wait()
    return records


class Clock:
    """What is done and how long the rest will take, from the expected seconds of all parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.done: list[Part] = []
        self.started = self.told = time.monotonic()

    def tell(self, part: Part, done: int, rounds: int) -> None:
        """Say now and then how far a part is."""
        now = time.monotonic()
        if 0 < done < rounds and now - self.told < TELL_SECONDS:
            return
        self.told = now
        expected = sum(each.expected for each in self.parts)
        passed = sum(each.expected for each in self.done) + part.expected * done / rounds
        left = (now - self.started) * (expected - passed) / passed if passed else expected
        place = f"{len(self.done) + 1}/{len(self.parts)}"
        say(f"{place} {' '.join(part.names)}: round {done} of {rounds}, about {left / 60:.1f} min left")


def say(text: str) -> None:
    """Tell the terminal."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def set_up(parts: Sequence[Part]) -> dict[str, Path]:
    """Make the environments that are missing; return the logs of those that could not be made, by peer."""
    faults = {}
    for peer in sorted({peer for part in parts for peer in part.lines.values()} - {NONE}):
        log = LOGS / f"environment-{peer}.log"
        say(f"environment of {peer}")
        try:
            make(peer, log)
        except subprocess.CalledProcessError:
            faults[peer] = log
    return faults


def last_lines(log: Path) -> str:
    """Return the end of a log."""
    if not log.is_file():
        return ""
    with log.open(encoding="utf-8", errors="replace") as handle:
        return "".join(deque(handle, LAST_LINES))


def main(asked: Sequence[str]) -> int:
    """Measure, write, sum up; return the exit status."""
    try:
        parts = chosen(asked)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    absent = set_up(parts)
    clock = Clock(parts)
    found: list[results.Record] = []
    faults: dict[str, Path] = {}  # name -> log
    for part in parts:
        log = LOGS / f"{part.names[0]}.log"
        possible = part.only([name for name, peer in part.lines.items() if peer not in absent])
        records = run(possible, log, clock) if possible.lines else []
        results.replace(results.RESULTS / "cpu.jsonl", records)
        found += records
        for name in set(part.lines) - {record["name"] for record in records}:
            say(f"{name} failed")
            faults[name] = absent.get(part.lines[name], log)
        clock.done.append(part)
    results.write_readme()
    sys.stdout.write(results.table("measured now", {record["name"]: record for record in found}))
    sys.stdout.write("\nResults: benchmarks/results/cpu.jsonl; table: benchmarks/README.md\n")
    for name, log in faults.items():
        sys.stdout.write(f"\nFAILED {name}; {log.relative_to(ROOT)} ends with\n{last_lines(log)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
