"""The default study from a clean results folder, on two cores, in a copy of the working tree: wall time.

Set up before and not counted: the Python environment and the downloaded text. The limit stands where other lines have
a peer, and the ratio is limit / seconds. The finished study stays in `benchmarks/.work/study` until the next time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.environments import ROOT, WORK, variables
from benchmarks.rounds import Line, tell_round

CORES = 2
LIMIT_SECONDS = 25 * 60

CONDITIONS = {
    "study": "config.yaml, every run, table and figure; results folder empty",
    "machine": f"snakemake on {CORES} cores, nothing else running; wall time",
    "set up before": "Python environment, downloaded text",
    "peer": "the limit that the project set itself; ratio = limit / seconds",
}


def compare(names: tuple[str, ...]) -> list[Line]:
    """Run the study once."""
    tree = WORK / "study"
    shutil.rmtree(tree, ignore_errors=True)
    copy_tree(ROOT, tree)
    seconds = _run(tree)
    tell_round(1, 1)
    return [Seconds(name, "seconds", [seconds], [float(LIMIT_SECONDS)], CONDITIONS) for name in names]


class Seconds(Line):
    """A line whose rates are seconds: the smaller the faster."""

    def record(self, versions: dict[str, str]) -> dict[str, object]:
        """Return the JSON object, its ratios turned round."""
        turned = Line(self.name, self.unit, self.peer, self.ours, self.conditions, self.peer_version).record(versions)
        return {**turned, "ours": turned["peer"], "peer": turned["ours"]}


def copy_tree(root: Path, out: Path) -> None:
    """Copy the files that git tracks or would track, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():  # not deleted since
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, out / name)


def _run(tree: Path) -> float:
    binaries = Path(sys.executable).parent
    own = variables()
    own.pop("OMP_NUM_THREADS")  # Snakemake sets it to the threads of a job
    own |= {"PATH": os.pathsep.join([str(binaries), own["PATH"]]), "PYTHONPATH": str(tree / "src")}
    started = time.monotonic()
    # stdout belongs to the result
    subprocess.run([binaries / "snakemake", "--cores", str(CORES)], cwd=tree, env=own, check=True, stdout=sys.stderr)
    return time.monotonic() - started
