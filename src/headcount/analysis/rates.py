"""How long one update takes, from trainings that are behind us: finished run folders and committed tables.

A rate is seconds for each floating-point operation of `estimate.flops_per_update`, so that a training with fewer heads
can be told from one with more; the seconds are those of a whole training, validations included, by its updates.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headcount import config, estimate, plan
from headcount.analysis.cost import own_updates
from headcount.analysis.study import FinishedRun, read_json, read_runs
from headcount.heads import ATTENTION_TYPES
from headcount.plan import Run

Key = tuple[str, ...]

SAME_STAGE, SAME_SHAPE, ANY_SHAPE = 3, 4, 7
"""How many of a run's `keys` may be looked up."""

SHAPE = (
    *("layers_encoder", "layers_decoder", "width", "heads", "feed_forward", "vocabulary", "norm", "tie_embeddings"),
    *("dropout", "attention_dropout"),
)
"""What, beside normalisers and batch, makes two models equally fast by operation."""


def shape(run: Run, model: Mapping[str, Any]) -> str:
    """Return sizes, normalisers and batch of a training as one text."""
    training = run.settings["training"]
    batch = [training["tokens_per_batch"], training["accumulate_batches"]]
    return json.dumps([[model.get(key) for key in SHAPE], _normalisers(model), batch])


def keys(run: Run, model: Mapping[str, Any]) -> list[Key]:
    """Return what a rate may be filed under, from the very run to any training."""
    same, normalisers = shape(run, model), _normalisers(model)
    return [
        ("run", same, run.stage, run.run),
        ("scope", same, run.stage, run.scope),
        ("stage", same, run.stage),
        ("shape", same),
        ("normalisers and stage", normalisers, run.stage),
        ("normalisers", normalisers),
        ("any",),
    ]


class Rates:
    """Rates of one source; `runs` is how many trainings they are of."""

    def __init__(self) -> None:
        self.runs = 0
        self._found: dict[Key, list[float]] = defaultdict(list)

    def add(self, run: Run, model: Mapping[str, Any], seconds_per_update: float) -> None:
        """File the seconds of an update of a run whose model started from this shape."""
        self.runs += 1
        for key in keys(run, model):
            self._found[key].append(seconds_per_update / estimate.flops_per_update(run, model))

    def seconds_per_update(self, run: Run, model: Mapping[str, Any], depth: int) -> float | None:
        """Return the median of the trainings that are most alike, at most as unlike as `depth` allows."""
        for key in keys(run, model)[:depth]:
            if key in self._found:
                return statistics.median(self._found[key]) * estimate.flops_per_update(run, model)
        return None


def of_study(rates: Rates, study: Path, device: str) -> None:
    """Add the finished runs of a study's folder that were trained on a device, `cpu` or `cuda`.

    Raises:
        UserError: a file of a run folder cannot be read.

    """
    records = {path.parent.name: read_json(path) or {} for path in sorted((study / "runs").glob("*/run.json"))}
    done = [
        name
        for name, record in records.items()
        if record.get("status") == "finished" and record.get("device", "cpu") == device
    ]
    finished = {run.run: run for run in read_runs(study, done)} if done else {}
    planned = {name: _planned(run.settings) for name, run in finished.items()}
    for name, run in finished.items():
        updates, seconds, model = own_updates(run), run.seconds, _model(planned[name], planned, finished)
        if updates and seconds and model:
            rates.add(planned[name], model, seconds / updates)


def of_table(rates: Rates, table: Path, configs: Sequence[Path]) -> None:
    """Add the rows of a committed `runs.csv`, of trainings on CPUs, whose dense models have the config files' shapes.

    Raises:
        UserError: the config files have a fault.

    """
    rows = pd.read_csv(table)
    if not {"run", "updates", "train_seconds", "parameters"}.issubset(rows.columns):
        return  # of an older version
    study = config.read(*configs)
    runs, corpora = plan.runs(study), config.studies(study)
    known = {row["run"]: row for row in rows.to_dict("records") if row["run"] in runs}
    models = {
        name: estimate.model_of(runs[name], runs, corpora[runs[name].corpus].subword.vocabulary) for name in known
    }
    described = {
        runs[name].corpus
        for name, row in known.items()
        if runs[name].has_all_heads and row["parameters"] == sum(estimate.parameters(models[name]).values())
    }
    for name, row in known.items():
        if runs[name].corpus in described and row["updates"] > 0:
            rates.add(runs[name], models[name], row["train_seconds"] / row["updates"])


def _planned(settings: Mapping[str, Any]) -> Run:
    """Return the run of which these are the complete settings."""
    named = {entry.name: settings[entry.name] for entry in dataclasses.fields(Run) if entry.name != "settings"}
    return Run(**{**named, "parents": tuple(settings["parents"])}, settings=dict(settings))


def _model(run: Run, runs: Mapping[str, Run], finished: Mapping[str, FinishedRun]) -> dict[str, Any] | None:
    """Return the shape of the model that a finished run started from; None where its dense model is gone."""
    try:
        first = estimate.origin(run, runs)
    except KeyError:
        return None
    written = finished[first.run].model
    return written and estimate.model_of(first, runs, written["vocabulary"])


def _normalisers(model: Mapping[str, Any]) -> str:
    return " ".join(model["normalisers"][kind] for kind in ATTENTION_TYPES)
