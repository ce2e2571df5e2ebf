"""A pretended study on disk; a module of its own, so that other processes can import it."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headcount import plan
from headcount.config import Study
from headcount.tracking.sync import Report, sync

STARTED = 1_700_000_000.0
SETTINGS = {
    "study": "toy",
    "model": {"layers_encoder": 1, "layers_decoder": 1, "width": 16, "heads": 2, "feed_forward": 32},
    "training": {"updates": 400, "warmup_updates": 40},
    "l0": {"scopes": ["encoder"], "penalties_encoder": [0.01]},
    "lottery": {"rewind_update": 20, "round_updates": 20, "heads_per_round": 2, "tickets": [2]},
}


@dataclass
class Toy:
    """The folder of a study with runs that were never trained."""

    study: Study
    folder: Path
    uri: str

    def write(self, name: str, status: str = "finished", updates: int = 60, **record: Any) -> Path:
        """Write the folder of one run of the plan, as its training would have left it."""
        run = plan.runs(self.study)[name]
        folder = self.folder / "runs" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.yaml").write_text(yaml.safe_dump(run.settings, allow_unicode=True), encoding="utf-8")
        self.record(name, status, updates, **record)
        (folder / "journal.jsonl").unlink(missing_ok=True)
        self.journal(name, 0, updates)
        if status == "finished":
            kept = {"encoder": [[0]], "decoder_self": [[0, 1]], "decoder_cross": [[]]}
            (folder / "heads.json").write_text(json.dumps({"kept": kept, "scores": {}, "removed": []}))
            if run.trains_a_model:
                scores = {
                    "bleu": 20.5,
                    "bleu_low": 19.0,
                    "p_value": None,
                    "suspect": False,
                    "signatures": {"bleu": "x"},
                }
                (folder / "score.json").write_text(json.dumps(scores))
        return folder

    def record(self, name: str, status: str, updates: int = 60, **changes: Any) -> None:
        """Write `run.json`."""
        record = {
            "status": status,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started": STARTED,
            "ended": None if status == "running" else STARTED + updates,
            "seconds": float(updates),
            "tokens": updates * 900,
            "git": {"commit": "0123abc", "dirty": True},
            "versions": {},
            "hardware": {},
            "slurm_job": "",
        }
        (self.folder / "runs" / name / "run.json").write_text(json.dumps(record | changes))

    def journal(self, name: str, first: int, last: int, speed: float = 900.0) -> None:
        """Append the lines after update `first` up to `last`; equal updates give equal values at any speed."""
        lines: list[dict[str, Any]] = []
        for update in range(first + 20, last + 1, 20):
            common = {"update": update, "seconds": update * 900 / speed}
            lines.append({**common, "loss": 8 / update, "tokens_per_second": speed, "gates": {"encoder": [[0.5, 1.0]]}})
            if update % 40 == 0:
                lines.append({**common, "valid/bleu": update / 10})
        with (self.folder / "runs" / name / "journal.jsonl").open("a", encoding="utf-8") as handle:
            handle.writelines(json.dumps(line) + "\n" for line in lines)

    def sync(self, *runs: str) -> Report:
        """Sync the named runs, or all."""
        return sync(self.folder, self.uri, list(runs) or None)


@dataclass
class View:
    """What the store says, asked through MLflow's own client."""

    client: Any
    study: str = "toy"

    def live(self) -> dict[str, Any]:
        """Return the live runs of the study by name; a name must not live twice."""
        experiment = self.client.get_experiment_by_name(f"headcount/{self.study}")
        runs = self.client.search_runs([experiment.experiment_id], max_results=1000)
        named = {run.info.run_name: run for run in runs}
        assert len(named) == len(runs)
        return named

    def deleted(self) -> list[Any]:
        """Return the superseded runs."""
        from mlflow.entities import ViewType

        experiment = self.client.get_experiment_by_name(f"headcount/{self.study}")
        return list(self.client.search_runs([experiment.experiment_id], run_view_type=ViewType.DELETED_ONLY))

    def curve(self, name: str, metric: str) -> list[tuple[int, float]]:
        """Return all stored points of a metric."""
        history = self.client.get_metric_history(self.live()[name].info.run_id, metric)
        return sorted((point.step, point.value) for point in history)

    def files(self, name: str, folder: str | None = None) -> list[str]:
        """List the artifacts in a folder of a run."""
        return [item.path for item in self.client.list_artifacts(self.live()[name].info.run_id, folder)]


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Ask again and again, until the answer is yes."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.2)
