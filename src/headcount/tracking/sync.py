"""Run folders → MLflow, as often as one likes: what is there is not sent again, what changed begins a new run."""

from __future__ import annotations

import itertools
import logging
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from headcount.errors import UserError
from headcount.tracking.address import resolve, shown
from headcount.tracking.derived import SUMMARY, lottery_payload, summary_payload
from headcount.tracking.payload import FINAL, PASSING_TAGS, Payload, Point, run_names, run_payload
from headcount.tracking.store import Store, StoreError, connect, describe, lock

LOCK_SECONDS = 60.0
FEW_RUNS = 8
METRICS_PER_CALL = 1000
ENTRIES_PER_CALL = 100
"""MLflow's limits of a batch; parameters and tags share the second."""

RUN, SETTINGS, FINGERPRINT, SUPERSEDED = (
    f"headcount.{name}" for name in ("run", "settings", "fingerprint", "superseded")
)
PARENT = "mlflow.parentRunId"

T = TypeVar("T")


@dataclass
class Report:
    """What a sync did, by run name; `problems` holds one line for each thing that did not work.

    `uri` is the address without a password.
    """

    study: str
    uri: str
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    points: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 when everything was synced, else 1."""
        return 1 if self.problems else 0

    def __str__(self) -> str:
        """Say what was done in one line, unless nothing could be done, and each problem in one."""
        counts = [(self.created, "new"), (self.updated, "updated"), (self.superseded, "superseded")]
        parts = [f"{len(names)} {what}" for names, what in counts if names]
        parts += [f"{len(self.unchanged)} unchanged", f"{self.points:,} points added"]
        done = f"MLflow: study {self.study}: {', '.join(parts)} ({self.uri})"
        problems = [f"tracking: {problem}" for problem in self.problems]
        return "\n".join(problems if problems and parts[0] == "0 unchanged" else [done, *problems])


def sync(study_folder: Path, uri: str, runs: Sequence[str] | None) -> Report:
    """Bring the MLflow runs of a study up to its run folders.

    Args:
        study_folder: `results/<study>`.
        uri: address of the store; empty is the default.
        runs: names of the runs to look at, among them `summary`; None for everything.

    Returns:
        The report. Nothing is raised: a store that is down, locked, slow or read-only becomes a line in `problems`,
        and the next sync catches up.

    """
    report = Report(study_folder.name, shown(uri))
    try:
        address = resolve(uri)
        report.uri = shown(address)
        if not study_folder.is_dir():
            raise UserError(f"{study_folder}: no such study")
        with lock(address, LOCK_SECONDS, study_folder):
            payloads = list(_payloads(study_folder, runs, report))  # read by one at a time, so that none is outdated
            with connect(address, study_folder) as store:
                if runs is None or SUMMARY in runs:
                    describe(store, study_folder)
                _Writer(store, report).write(payloads)
    except (StoreError, UserError) as error:
        report.problems.append(str(error))
    except Exception as error:  # a view of the results must never stop what makes them
        logging.getLogger(__name__).debug("sync failed", exc_info=True)
        report.problems.append(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}")
    return report


def _payloads(study_folder: Path, runs: Sequence[str] | None, report: Report) -> Iterator[Payload]:
    """Read the wanted run folders; parents come before their children."""
    began = run_names(study_folder)
    wanted = began if runs is None else [name for name in dict.fromkeys(runs) if name != SUMMARY]
    report.problems += [f"{study_folder / 'runs' / name}: no such run" for name in wanted if name not in began]
    read = _read(study_folder, [name for name in wanted if name in began], report)
    parents = {payload.parent for payload in read if payload.parent}
    if parents:
        known = {payload.run: payload for payload in read}
        others = [name for name in began if name.startswith("round-") and name not in known]
        rounds = [*read, *(_read(study_folder, others, report) if runs is not None else ())]
        for parent in sorted(parents):
            siblings = sorted((p for p in rounds if p.parent == parent), key=lambda p: (len(p.run), p.run))
            yield lottery_payload(study_folder, siblings)
    yield from read
    summary = summary_payload(study_folder) if runs is None or SUMMARY in runs else None
    if summary:
        yield summary


def _read(study_folder: Path, names: Iterable[str], report: Report) -> list[Payload]:
    read = []
    for name in names:
        try:
            read.append(run_payload(study_folder, name))
        except UserError as error:
            report.problems.append(str(error))
        except Exception as error:  # one odd folder must not hide the others
            logging.getLogger(__name__).debug("run %s", name, exc_info=True)
            report.problems.append(f"{study_folder / 'runs' / name}: {type(error).__name__}: {error}")
    return read


class _Writer:
    """Writes payloads into the experiment and notes in the report what it did."""

    def __init__(self, store: Store, report: Report) -> None:
        self.client = store.client
        self.experiment = store.experiment
        self.report = report
        self.ids: dict[str, str] = {}  # run name -> MLflow's id, of parents

    def write(self, payloads: Sequence[Payload]) -> None:
        names = [payload.run for payload in payloads]
        # of a large study, asked for as a whole, even the runs that nobody wants cost time
        wanted = [f"tags.`{RUN}` = '{name}'" for name in names] if len(names) <= FEW_RUNS else [""]
        live = {name: runs for condition in wanted for name, runs in self._live(condition).items()}
        for payload in payloads:
            self._write(payload, live.get(payload.run, []))

    def _live(self, condition: str) -> dict[str, list[Any]]:
        """Return the live MLflow runs that fulfil a condition by run name, oldest first."""
        live: dict[str, list[Any]] = {}
        token = None
        while True:
            found = self.client.search_runs(
                [self.experiment], condition, max_results=500, order_by=["attributes.start_time ASC"], page_token=token
            )
            for run in found:
                name = run.data.tags.get(RUN)
                if SUPERSEDED in run.data.tags:  # a sync was cut off before deleting it, or it was restored
                    self.client.delete_run(run.info.run_id)
                elif name:
                    live.setdefault(name, []).append(run)
            token = found.token
            if not token:
                return live

    def _write(self, payload: Payload, candidates: Sequence[Any]) -> None:
        fingerprint = payload.fingerprint
        run = next((each for each in candidates if each.data.tags.get(SETTINGS) == payload.settings), None)
        parent = {PARENT: self.ids[payload.parent]} if payload.parent in self.ids else {}
        if run and run.data.tags.get(FINGERPRINT) == fingerprint and run.info.status == payload.status:
            self._retire(candidates, run)
            self.ids[payload.run] = run.info.run_id
            self._set_tags(run.info.run_id, {k: v for k, v in parent.items() if run.data.tags.get(k) != v})
            self.report.unchanged.append(payload.run)
            return
        logged = self._logged(run, payload) if run else {}
        if run and (_contradicts(payload, logged) or _differ(run.data.params, payload.params)):
            run, logged = None, {}
        self._retire(candidates, run)
        fresh = run is None
        if run is None:
            identity = {RUN: payload.run, SETTINGS: payload.settings, **payload.tags, **parent}
            run = self.client.create_run(
                self.experiment, start_time=int(payload.started * 1000), tags=identity, run_name=payload.run
            )
        self.ids[payload.run] = run.info.run_id
        self._fill(run, payload, logged)
        self._set_status(run, payload)
        for key in PASSING_TAGS:
            if key in run.data.tags and key not in payload.tags:
                self.client.delete_tag(run.info.run_id, key)
        # last of all: a sync that was cut off before is repeated
        self._set_tags(run.info.run_id, {**payload.tags, **parent, FINGERPRINT: fingerprint})
        (self.report.created if fresh else self.report.updated).append(payload.run)

    def _logged(self, run: Any, payload: Payload) -> dict[tuple[str, int], float]:
        """Ask the store which points it holds; it alone knows, whatever was interrupted or rewound."""
        metrics = {point.metric for point in payload.points} & run.data.metrics.keys()
        return {
            (metric, point.step): point.value
            for metric in sorted(metrics)
            for point in self.client.get_metric_history(run.info.run_id, metric)
        }

    def _retire(self, candidates: Sequence[Any], kept: Any) -> None:
        """Mark, close and soft-delete the live runs of one name, except the kept one."""
        for run in candidates:
            if run is kept:
                continue
            self.client.set_tag(run.info.run_id, SUPERSEDED, "true")
            if run.info.status not in FINAL:
                self.client.set_terminated(run.info.run_id, "KILLED")
            self.client.delete_run(run.info.run_id)
            self.report.superseded.append(run.data.tags[RUN])

    def _fill(self, run: Any, payload: Payload, logged: Mapping[tuple[str, int], float]) -> None:
        from mlflow.entities import Metric, Param

        run_id, start = run.info.run_id, run.info.start_time
        for path, source in payload.files.items():
            if isinstance(source, str):
                self.client.log_text(run_id, source, path)
            else:
                self.client.log_artifact(run_id, str(source), posixpath.dirname(path) or None)
        params = [Param(key, value) for key, value in payload.params.items() if key not in run.data.params]
        for part in _parts(params, ENTRIES_PER_CALL):
            self.client.log_batch(run_id, params=part)
        missing = [point for point in payload.points if (point.metric, point.step) not in logged]
        metrics = [Metric(p.metric, p.value, start + int(p.seconds * 1000), p.step) for p in missing]
        for batch in _parts(metrics, METRICS_PER_CALL):
            self.client.log_batch(run_id, metrics=batch)
        self.report.points += len(metrics)

    def _set_status(self, run: Any, payload: Payload) -> None:
        if payload.status in FINAL:
            self.client.set_terminated(run.info.run_id, payload.status, int(payload.ended * 1000))
        elif run.info.status != payload.status:
            self.client.update_run(run.info.run_id, status=payload.status)

    def _set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        if tags:
            self.client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])


def _contradicts(payload: Payload, logged: Mapping[tuple[str, int], float]) -> bool:
    """Tell whether the store holds another training than the folder: other values, or points that it never made.

    Clock readings and samples of the machine are left out, for a resumed run repeats updates at another speed. Points
    that the folder does not have yet are fine until the run is finished: a resumed run will come to them.
    """
    ours: dict[tuple[str, int], Point] = {(point.metric, point.step): point for point in payload.points}
    for (metric, step), value in logged.items():
        if metric.startswith("system/") or (metric.startswith("train/") and "second" in metric):
            continue
        point = ours.get((metric, step))
        if payload.status == "FINISHED" if point is None else point.value != value:
            return True
    return False


def _differ(logged: Mapping[str, str], params: Mapping[str, str]) -> bool:
    return any(params.get(key) != value for key, value in logged.items())


def _parts(items: Sequence[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while part := list(itertools.islice(iterator, size)):
        yield part
