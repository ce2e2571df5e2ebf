"""A study that is submitted to the cluster, and its trainings, to be looked at and disturbed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from one_node import wait_until

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PROFILES = ("--profile", str(ROOT / "profiles" / "slurm"), "--workflow-profile", str(HERE / "profile"))


class Workflow:
    """Snakemake at work in a folder, with everything that it says in a file."""

    started: ClassVar[list[Self]] = []

    def __init__(
        self, folder: Path, config: str, *arguments: str, override: str = "{}", profiles: Sequence[str] = PROFILES
    ) -> None:
        self.folder = folder
        self._log = folder / f"said-{len(list(folder.glob('said-*')))}"
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        environment.pop("OMP_NUM_THREADS", None)
        (folder / "override.yaml").write_text(override, encoding="utf-8")
        configs = [str(HERE / config), str(folder / "override.yaml")]
        command = ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--configfile", *configs, *profiles]
        with self._log.open("w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [*command, *arguments], cwd=folder, env=environment, stdout=said, stderr=said, stdin=subprocess.DEVNULL
            )
        self.started.append(self)

    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def status(self, seconds: float = 300) -> int:
        """Wait for the end and return the exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"still at work after {seconds} s:\n{self.said()[-3000:]}") from None

    def kill(self) -> None:
        """End it as a lost login node would: without a word."""
        self.process.kill()
        self.process.wait()


class Training:
    """One run of the study `faults`."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.name = f"baseline-s{seed}"
        self.folder = folder / "results/faults/runs" / self.name
        self.log = folder / "results/faults/logs/train" / f"{self.name}.log"
        self.target = f"results/faults/runs/{self.name}/model.safetensors"

    def record(self) -> dict[str, Any]:
        return json.loads((self.folder / "run.json").read_text(encoding="utf-8"))

    def started(self) -> bool:
        return self.folder.exists()

    def hold(self) -> int:
        """Stop the process in the middle of the training, when something is saved, and return its id."""
        wait_until(f"a checkpoint of {self.name}", lambda: list(self.folder.glob("checkpoints/update-*.pt")), 120)
        pid: int = self.record()["pid"]
        os.kill(pid, signal.SIGSTOP)
        assert self.record()["status"] == "running", "the training was too quick to be disturbed"
        return pid

    def weights(self) -> str:
        return hashlib.sha256((self.folder / "model.safetensors").read_bytes()).hexdigest()

    def journal(self) -> list[tuple[int, str]]:
        """Return the updates of the journal's lines, each with what kind of line it is."""
        lines = map(json.loads, (self.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines())
        return [(line["update"], min(line)) for line in lines]


def attempts(folder: Path, training: Training) -> list[str]:
    """Return what each job of the training left in SLURM's own logs."""
    logs = sorted(
        folder.glob(f"results/slurm/rule_train_baseline/{training.name}/*.log"), key=lambda log: int(log.stem)
    )
    return [log.read_text(encoding="utf-8") for log in logs]


def assert_as_undisturbed(training: Training, undisturbed: Path, *, starts: int) -> None:
    """Check the result of a training that was begun so many times."""
    calm = Training(undisturbed, int(training.name[-1]))
    record = training.record()
    assert record["status"] == "finished"
    assert record["attempts"] == starts
    assert training.journal() == calm.journal()  # no line is missing, none is there twice
    assert training.weights() == calm.weights()
    if starts > 1:
        assert "going on from" in training.log.read_text(encoding="utf-8")  # not from the beginning
