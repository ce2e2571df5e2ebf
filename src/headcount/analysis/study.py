"""The finished runs of a study, read from their folders."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Heads, full
from headcount.train.journal import read

logger = logging.getLogger(__name__)

SMALLER = "smaller"
"""Method of the dense models of less compute, whose layers and heads are their own."""


@dataclass(frozen=True)
class FinishedRun:
    """One run folder and what its settings say of it."""

    folder: Path
    settings: dict[str, Any]
    record: dict[str, Any]

    @property
    def run(self) -> str:
        """The run's id, also the name of its folder."""
        return str(self.settings["run"])

    @property
    def corpus(self) -> str:
        """The corpus that the run was trained on."""
        return str(self.settings["corpus"])

    @property
    def method(self) -> str:
        """How the run was trained or pruned."""
        return str(self.settings["method"])

    @property
    def stage(self) -> str:
        """The stage of training that wrote the folder."""
        return str(self.settings["stage"])

    @property
    def variant(self) -> str:
        """Which of a method's settings were tried; empty: the main ones."""
        return str(self.settings.get("variant", ""))

    @property
    def penalty(self) -> float | None:
        """The λ of an L0 run; None where it was searched for."""
        l0 = self.settings.get("l0", {})
        return float(l0["penalty"]) if "penalty" in l0 and not l0["target_heads"] else None

    @property
    def target_heads(self) -> int | None:
        """The number of heads that the run was to leave, of its scope; None without such a wish."""
        asked = self.settings.get("target_heads") or self.settings.get("l0", {}).get("target_heads")
        return int(asked) if asked else None

    @property
    def clock(self) -> str:
        """The key of the time that the training took: CPU time on a CPU, where wall time depends on other programs."""
        on_cpu = self.record.get("device") == "cpu" and "cpu_seconds" in self.record
        return "cpu_seconds" if on_cpu else "seconds"

    @property
    def seconds(self) -> float | None:
        """The time of `clock` that the whole training took."""
        return self.record.get(self.clock)

    @functools.cached_property
    def journal(self) -> list[dict[str, Any]]:
        """The lines of the run's journal; a lottery round of no updates has none."""
        path = self.folder / "journal.jsonl"
        return read(path) if path.is_file() else []

    @functools.cached_property
    def model(self) -> dict[str, Any] | None:
        """The configuration of the run's final model; None for a lottery round, which keeps no model."""
        return read_json(self.folder / "model.json")

    @functools.cached_property
    def kept(self) -> Heads:
        """The heads that the run's model keeps, or that the lottery round left.

        Raises:
            UserError: the run folder tells neither.

        """
        found = self.model or read_json(self.folder / "heads.json")
        if found is None:
            raise UserError(f"{self.folder}: neither model.json nor heads.json; run it again")
        return {kind: [list(layer) for layer in found["kept"][kind]] for kind in ATTENTION_TYPES}


def read_runs(study: Path, runs: Collection[str]) -> list[FinishedRun]:
    """Read the named runs in the given order; one that is absent or unfinished is left out with a warning.

    Args:
        study: folder of the study.
        runs: ids of the runs that belong to the study; folders of other runs are leftovers of older settings.

    Raises:
        UserError: a file of a run folder cannot be read, or no named run is finished.

    """
    found: list[FinishedRun] = []
    for run in runs:
        folder = study / "runs" / run
        record = read_json(folder / "run.json")
        status = "absent" if record is None else str(record.get("status"))
        if record is not None and status == "finished":
            found.append(FinishedRun(folder, _read_yaml(folder / "run.yaml"), record))
        else:
            logger.warning("%s is left out of the tables: %s", folder, status)
    if not found:
        raise UserError(f"{study / 'runs'}: none of the {len(runs)} runs of the study is finished")
    return found


def every_head(runs: Collection[FinishedRun]) -> dict[str, Heads]:
    """Return the heads of the unpruned model of each corpus, from which all but the smaller dense models descend.

    Raises:
        UserError: no run of a corpus has such a model.

    """
    models = {run.corpus: run.model for run in runs if run.model is not None and run.method != SMALLER}
    if missing := {run.corpus for run in runs} - set(models):
        raise UserError(
            f"{', '.join(sorted(missing))}: none of the finished runs has a model; train the baseline first"
        )
    return {name: unpruned(model) for name, model in models.items()}


def unpruned(model: Mapping[str, Any]) -> Heads:
    """Return the heads that a model had before any was removed, from its configuration."""
    return full(model["layers_encoder"], model["layers_decoder"], model["heads"])


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; None when there is no such file.

    Raises:
        UserError: the file is no JSON object.

    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON: {error}; delete it and run its job again") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; the run folder is incomplete") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected a mapping of settings, found {type(value).__name__}")
    return value
