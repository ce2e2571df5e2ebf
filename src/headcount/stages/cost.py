"""What a study costs before it runs: measured seconds per update times the plan, as hours, disk and critical path."""

from __future__ import annotations

import csv
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headcount import chores, estimate, plan
from headcount.analysis import sources as of
from headcount.analysis.rates import shape
from headcount.config import Study, studies
from headcount.jobs import Job, jobs
from headcount.plan import Run
from headcount.schedule import critical_path, wall_seconds

BYTES_A_PAIR = 200
"""Of a prepared corpus: text and pieces of both sides."""

LOGGED, RATE = "own logs", "rate"
"""Sources of the jobs that train nothing."""

Measure = Callable[[dict[str, Any], dict[str, Any]], tuple[float, int]]
"""Model and settings of the optimisation -> measured seconds of an update, and of how many updates that is the mean."""


@dataclass(frozen=True)
class Priced:
    """A job with what it costs; `seconds` are those of one thread, or of one GPU if it trains on one."""

    job: Job
    seconds: float
    source: str
    updates: int = 0
    bytes: int = 0


def cost(
    study: Study,
    places: of.Places,
    *,
    device: str,
    workers: int,
    peak_tflops: float | None = None,
    measure: Measure | None = None,
) -> dict[str, Any]:
    """Return the cost of a study: by stage, in total, on the critical path, and where the figures come from.

    Args:
        study: that is planned; what of it is finished already counts as well.
        places: where finished trainings are looked for.
        device: cpu or cuda, of the trainings; all other jobs run on one CPU thread.
        workers: jobs side by side.
        peak_tflops: of the GPU, if it has to be guessed.
        measure: times an update of the shapes of which nothing is known; None: nothing is measured.

    Raises:
        UserError: a GPU's cost has to be guessed and its peak is not known.

    """
    runs, corpora = plan.runs(study), studies(study)
    models = {name: estimate.model_of(run, runs, corpora[run.corpus].subword.vocabulary) for name, run in runs.items()}
    sources = of.read(places, study.study, device, peak_tflops)
    if measure:
        _measure(sources, runs, models, measure)
    folder, listed = places.results / study.study, jobs(study)
    logged = _logged(folder / "logs", listed)
    priced = {}
    for name, job in listed.items():
        if job.run and job.trains:
            priced[name] = _training(job, job.run, models[name], sources, study.checkpoints.every_updates)
        else:
            of_corpus = [run for run in runs.values() if run.corpus == job.corpus] or list(runs.values())
            parameters = sum(estimate.parameters(models[(job.run or of_corpus[0]).run]).values())
            rate = chores.seconds(job, corpora.get(job.corpus, study), parameters, len(runs))
            disk = _corpus_bytes(folder / "data", job, corpora[job.corpus]) if job.rule == "prepare" else 0
            source = LOGGED if name in logged else RATE
            priced[name] = Priced(job, logged.get(name, rate), source, bytes=disk)
    return _summed(priced, study.study, device, workers) | {
        "finished_trainings": sources.own.runs,
        "sources": _told(sources, Counter(each.source for each in priced.values()), device),
    }


def _measure(
    sources: of.Sources, runs: Mapping[str, Run], models: Mapping[str, dict[str, Any]], measure: Measure
) -> None:
    """Time one training of each shape of which no finished one is known."""
    unknown = {shape(run, models[name]): run for name, run in runs.items() if not sources.known(run, models[name])}
    for run in unknown.values():
        seconds, updates = measure(models[run.run], run.settings["training"])
        sources.now.add(run, models[run.run], seconds)
        sources.updates_now += updates


def _training(job: Job, run: Run, model: dict[str, Any], sources: of.Sources, checkpoint_every_updates: int) -> Priced:
    updates = estimate.updates(run)
    seconds, source = sources.seconds_per_update(run, model) if updates else (0.0, RATE)
    disk = estimate.bytes_on_disk(run, model, checkpoint_every_updates)
    return Priced(job, chores.START_SECONDS + updates * seconds, source, updates, disk)


def _logged(logs: Path, listed: Mapping[str, Job]) -> dict[str, float]:
    """Return the wall seconds of the jobs that train nothing and ran before, or jobs of their rule and corpus did."""
    own: dict[str, float] = {}
    alike: dict[tuple[str, str], list[float]] = {}
    for name, job in listed.items():
        path = logs / job.rule / f"{job.subject}.benchmark.tsv"
        if not job.trains and path.is_file():
            rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
            own[name] = statistics.median(float(row["s"]) for row in rows)
            alike.setdefault((job.rule, job.corpus), []).append(own[name])
    return {
        name: own.get(name, statistics.median(alike[job.rule, job.corpus]))
        for name, job in listed.items()
        if (job.rule, job.corpus) in alike
    }


def _corpus_bytes(data: Path, job: Job, study: Study) -> int:
    """Return what a prepared corpus takes, or will take."""
    there = [path.stat().st_size for path in (data / job.corpus).rglob("*") if path.is_file()]
    return sum(there) or BYTES_A_PAIR * chores.pairs(study)


def _summed(priced: Mapping[str, Priced], study: str, device: str, workers: int) -> dict[str, Any]:
    seconds = {name: each.seconds for name, each in priced.items()}
    parents = {name: each.job.parents for name, each in priced.items()}
    priority = {name: each.job.priority for name, each in priced.items()}
    path = critical_path(seconds, parents)
    on_gpu = {name for name, each in priced.items() if device == "cuda" and each.job.trains}
    by_stage: dict[str, list[Priced]] = {}
    for each in priced.values():
        by_stage.setdefault(each.job.rule, []).append(each)
    return {
        "study": study,
        "device": device,
        "workers": workers,
        "stages": [_stage(rule, members, path) for rule, members in by_stage.items()],
        "total": {
            "jobs": len(priced),
            "updates": sum(each.updates for each in priced.values()),
            "cpu_hours": _hours(priced[name] for name in priced if name not in on_gpu),
            "gpu_hours": _hours(priced[name] for name in on_gpu),
            "bytes": sum(each.bytes for each in priced.values()),
            "wall_hours": wall_seconds(seconds, parents, priority, workers) / 3600,
        },
        "critical_path": {"hours": _hours(priced[name] for name in path), "jobs": path},
    }


def _stage(rule: str, members: Sequence[Priced], path: Sequence[str]) -> dict[str, Any]:
    updates = sum(each.updates for each in members)
    trained = sum(each.seconds - chores.START_SECONDS for each in members if each.job.trains)
    return {
        "stage": rule,
        "jobs": len(members),
        "updates": updates,
        "seconds_per_update": trained / updates if updates else None,
        "hours": _hours(members),
        "critical_hours": _hours(each for each in members if each.job.name in path),
        "bytes": sum(each.bytes for each in members),
        "sources": dict(Counter(each.source for each in members)),
    }


def _hours(members: Iterable[Priced]) -> float:
    return sum(each.seconds for each in members) / 3600


def _told(sources: of.Sources, used: Mapping[str, int], device: str) -> dict[str, str]:
    """Return what people should know of each source that was used."""
    threads = f"matrix products at {estimate.GFLOPS_PER_THREAD:.0f} GFLOP/s a thread, good to a factor of two"
    gpu = (
        f"no measurement on a GPU yet: matrix products at {of.GPU_SHARE:.0%} of the given peak; small models are slower"
    )
    told = {
        "this study": f"{sources.own.runs} trainings of this study that are finished",
        "other studies": f"{sources.others.runs} finished trainings of other studies in the same folder",
        "measured now": f"measured here just now, {sources.updates_now} updates of {sources.now.runs} shapes on random "
        "sentences, validations not included",
        "committed tables": f"{sources.committed.runs} trainings of published studies on their machines, scaled by "
        "matrix products",
        of.GUESS: threads if device == "cpu" else gpu,
        LOGGED: "what the jobs of this study, or others of the same rule and corpus, took before",
        RATE: "of jobs that train nothing, measured once on an AMD EPYC core",
    }
    return {name: text for name, text in told.items() if name in used}


def print_cost(values: Mapping[str, Any]) -> None:
    """Print what `cost` returned, for people."""
    console, total = Console(), values["total"]
    table = Table(title=f"study {values['study']}: {total['jobs']} jobs", title_justify="left")
    table.add_column("stage", no_wrap=True)
    for heading in ("jobs", "updates", "s/update", "time", "GB"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("source")
    for stage in values["stages"]:
        each = "" if stage["seconds_per_update"] is None else f"{stage['seconds_per_update']:.3f}"
        table.add_row(
            stage["stage"],
            str(stage["jobs"]),
            f"{stage['updates']:,}" if stage["updates"] else "",
            each,
            _time(stage["hours"]),
            f"{stage['bytes'] / 1e9:.2f}" if stage["bytes"] else "",
            ", ".join(
                f"{name} {jobs}" if len(stage["sources"]) > 1 else name for name, jobs in stage["sources"].items()
            ),
        )
    table.add_section()
    time = _time(total["cpu_hours"] + total["gpu_hours"])
    table.add_row("total", str(total["jobs"]), f"{total['updates']:,}", "", time, f"{total['bytes'] / 1e9:.2f}")
    console.print(table)
    for name, text in _lines(values):
        console.print(f"{name:16} {text}", highlight=False, markup=False, soft_wrap=True)


def _lines(values: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    total, path = values["total"], values["critical_path"]
    gpu = f"{total['gpu_hours']:.2f} GPU-hours of training and " if values["device"] == "cuda" else ""
    yield "hours", f"{gpu}{total['cpu_hours']:.2f} CPU-hours, one thread a job"
    yield "wall time", f"{_time(total['wall_hours'])} with {values['workers']} jobs side by side, each on an idle core"
    yield "critical path", f"{_time(path['hours'])} however many jobs run: {' > '.join(path['jobs'])}"
    yield "disk", f"{total['bytes'] / 1e9:.1f} GB of run folders and corpora"
    yield from values["sources"].items()


def _time(hours: float) -> str:
    """Return a time in the unit that people would use."""
    if hours >= 1.5:
        return f"{hours:,.1f} h"
    return f"{hours * 60:.1f} min" if hours * 60 >= 1 else f"{hours * 3600:.0f} s"
