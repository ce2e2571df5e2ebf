"""A run folder → everything that MLflow is told of it; reads files, knows nothing of MLflow."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from headcount.errors import UserError
from headcount.heads import count
from headcount.tracking.names import LONGEST_VALUE, canonical, digest, flatten, metric_name, numbers, safe_name
from headcount.tracking.status import status_of
from headcount.train.journal import read

PAPERS = {
    "baseline": "baseline",
    **dict.fromkeys(("l0", "scratch", "random", "named", "unnamed"), "voita2019"),
    **dict.fromkeys(("round", "ticket", "reinit", "reinit_longer", "same_counts"), "behnke2020"),
    **dict.fromkeys(("ranked", "subset", "smaller"), "behnke2020"),
}
"""Method → paper; every other method is a normaliser of correia2019."""

TOLD = ("corpus", "method", "variant", "stage", "seed", "scope", "setting", "normaliser")
"""Settings that become tags, to filter and group by."""

FILES = ("run.yaml", "run.json", "score.json", "heads.json")
"""Files of a run folder that are copied as artifacts; weights stay where they are."""

READ = (*FILES, "model.json", "journal.jsonl", "usage.jsonl")
"""Files of a run folder that are read here."""

PASSING_TAGS = ("git_dirty", "non_finite", "slurm_job", "suspect")
"""Tags that a run may lose, for instance when it is resumed before the update that went wrong."""

SPEED_IS_OF = ("run", "heads", "beam", "sentences_per_batch")
"""What a row of decoding speed is about, beside what was measured."""

FINAL = ("FINISHED", "FAILED", "KILLED")
NOTED_UPDATES = 10


class Point(NamedTuple):
    """One value of one metric; `seconds` since the run's start."""

    metric: str
    step: int
    value: float
    seconds: float


@dataclass(frozen=True)
class Payload:
    """One MLflow run, complete. `files` maps a path inside the run's artifacts to a file or to its text."""

    run: str
    settings: str
    status: str
    started: float
    ended: float
    tags: dict[str, str]
    parent: str = ""
    params: dict[str, str] = field(default_factory=dict)
    points: tuple[Point, ...] = ()
    files: dict[str, Path | str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Digest of all that is told, file contents included: equal fingerprint, nothing to do."""
        parts = [self.run, self.settings, self.status, self.parent, self.tags, self.params, self.points, self.ended]
        contents = {
            name: digest(source if isinstance(source, str) else source.read_bytes())
            for name, source in self.files.items()
        }
        return digest(canonical([*parts, contents]))[:16]


def run_names(study_folder: Path) -> list[str]:
    """List the runs of a study that have begun, by name."""
    return sorted(path.parent.name for path in study_folder.glob("runs/*/run.json"))


def run_payload(study_folder: Path, name: str) -> Payload:
    """Read the folder of one run.

    Raises:
        UserError: a file is missing or cannot be read; the message names it.

    """
    folder = study_folder / "runs" / name
    settings, record = read_yaml(folder / "run.yaml"), read_json(folder / "run.json")
    status = status_of(record, _silent_seconds(folder))
    points, non_finite = curve(read_journal(folder / "journal.jsonl"))
    scores = read_json(folder / "score.json") if (folder / "score.json").exists() else {}
    further = [*usage(folder / "usage.jsonl"), *_results(study_folder, folder, settings, record, scores)]
    points |= {(point.metric, point.step): point for point in further}
    params, long = parameters(settings)
    method = str(settings.get("method", ""))
    started = float(record.get("began") or record.get("started") or 0.0)
    return Payload(
        run=name,
        parent=re.sub(r"round-\d+", "lottery", name) if method == "round" else "",
        settings=digest(canonical(settings))[:16],
        status=status,
        started=started,
        ended=float(record.get("ended") or _last_sign(folder)) if status in FINAL else 0.0,
        tags=_tags(settings, record, scores, non_finite),
        params=params,
        points=tuple(points.values()),
        files={**{name: folder / name for name in FILES if (folder / name).exists()}, **long},
    )


def signs(study_folder: Path, name: str) -> tuple[tuple[str, int, int], ...]:
    """Return name, size and time of each file that tells of a run: equal signs, nothing new, and nothing was read."""
    files = [study_folder / "runs" / name / file for file in READ] + sorted(study_folder.glob("speed/*.json"))
    found = [(path, path.stat()) for path in files if path.exists()]
    return tuple((path.name, stat.st_size, stat.st_mtime_ns) for path, stat in found)


def curve(journal: Iterable[Mapping[str, Any]]) -> tuple[dict[tuple[str, int], Point], dict[str, list[int]]]:
    """Turn journal lines into points and the updates of non-finite values, which no store can hold faithfully.

    An update that was journalled twice (before and after a resume) counts once, the last time.
    """
    points: dict[tuple[str, int], Point] = {}
    non_finite: dict[tuple[str, int], None] = {}
    for line in journal:
        update = line.get("update")
        if not isinstance(update, int):
            continue
        seconds = next((value for _, value in numbers("", line.get("seconds"))), 0.0)
        for key in line.keys() - {"update", "seconds"}:
            for name, value in numbers(key, line[key]):
                point = Point(metric_name(name), update, value, seconds)
                at = (point.metric, update)
                if math.isfinite(value):
                    points[at] = point
                    non_finite.pop(at, None)
                else:
                    non_finite[at] = None
                    points.pop(at, None)
    flagged: dict[str, list[int]] = {}
    for metric, update in sorted(non_finite):
        flagged.setdefault(metric, []).append(update)
    return dict(sorted(points.items())), flagged


def usage(path: Path) -> Iterable[Point]:
    """Read the samples of CPU, memory and GPU as metrics of the section `system`, the step in seconds since the first.

    They are never rewound: a resumed run shows what each of its attempts used.
    """
    first = None
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        try:
            sample = json.loads(text)
        except ValueError:  # cut off by a kill
            continue
        first = sample["time"] if first is None else first
        since = sample["time"] - first
        for key in sorted(sample.keys() - {"time"}):
            yield Point(f"system/{key}", int(since), sample[key], since)


def parameters(settings: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Path | str]]:
    """Return the flat parameters and, for each that is too long, a file with the whole value.

    The parameter then holds `sha256:` and the digest of that file.
    """
    params: dict[str, str] = {}
    files: dict[str, Path | str] = {}
    for key, value in flatten(settings).items():
        name, text = safe_name(key), canonical(value)
        if len(text) > LONGEST_VALUE:
            files[f"params/{name.replace('/', '_')}.txt"] = text
            text = f"sha256:{digest(text)}"
        if text:  # servers disagree about empty values
            params[name] = text
    return params, files


def single(section: str, values: Mapping[str, Any]) -> Iterable[Point]:
    """Return the finite numbers of a mapping as metrics of a section, at step 0."""
    for key, value in flatten(values).items():
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield Point(safe_name(f"{section}/{key}"), 0, float(value), 0.0)


def head_counts(folder: Path) -> dict[str, int]:
    """Count a run's kept heads per attention type and in total, from its model or its round's ranking."""
    for name in ("model.json", "heads.json"):
        kept = read_json(folder / name).get("kept") if (folder / name).exists() else None
        if kept:
            counts = count(kept)
            return {**counts, "total": sum(counts.values())}
    return {}


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Read a journal; a run that has not written one yet has no lines."""
    return read(path) if path.exists() else []


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds a mapping."""
    return _mapping(path, json.loads)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping."""
    return _mapping(path, yaml.safe_load)


def _mapping(path: Path, parse: Any) -> dict[str, Any]:
    try:
        value = parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: missing") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected a mapping, found {type(value).__name__}")
    return value


def _results(
    study_folder: Path,
    folder: Path,
    settings: Mapping[str, Any],
    record: Mapping[str, Any],
    scores: Mapping[str, Any],
) -> Iterable[Point]:
    """Yield what is known once: scores, heads, cost and decoding speed."""
    yield from single("score", scores)
    yield from single("heads", head_counts(folder))
    if record.get("status") == "finished":
        yield from single("cost", {key: record.get(key) for key in ("seconds", "tokens")})
    timings = study_folder / "speed" / f"{settings.get('corpus')}-s{settings.get('seed')}.json"
    for row in read_json(timings).get("rows", []) if timings.exists() else []:
        if row.get("run") == folder.name:
            under = f"speed/beam_{row['beam']}_batch_{row['sentences_per_batch']}"
            yield from single(under, {key: row[key] for key in row if key not in SPEED_IS_OF})


def _tags(
    settings: Mapping[str, Any],
    record: Mapping[str, Any],
    scores: Mapping[str, Any],
    non_finite: Mapping[str, list[int]],
) -> dict[str, str]:
    method = str(settings.get("method", ""))
    git = record.get("git") or {}
    tags = {
        "paper": PAPERS.get(method, "correia2019"),
        **{key: settings.get(key, "") for key in TOLD},
        "parents": ", ".join(settings.get("parents") or ()),
        "slurm_job": record.get("slurm_job") or "",
        "mlflow.source.name": f"headcount {settings.get('stage', '')}",
        "mlflow.source.type": "JOB",
        "mlflow.source.git.commit": git.get("commit") or "",
        "git_dirty": "true" if git.get("dirty") else "",
        "suspect": "true" if scores.get("suspect") else "",
        "non_finite": "; ".join(f"{metric} at update {_some(at)}" for metric, at in non_finite.items()),
    }
    return {key: canonical(value)[:5000] for key, value in tags.items() if value not in ("", None)}


def _some(updates: list[int]) -> str:
    listed = ", ".join(str(update) for update in updates[:NOTED_UPDATES])
    more = len(updates) - NOTED_UPDATES
    return f"{listed} and {more} more" if more > 0 else listed


def _silent_seconds(folder: Path) -> float:
    """Return the time since the run's process, wherever it is, last renewed its record; clocks may differ a little."""
    record = folder / "owner.lock"
    return time.time() - record.stat().st_mtime if record.exists() else math.inf


def _last_sign(folder: Path) -> float:
    """Return when a run that ended without a word last wrote something (unix seconds)."""
    return max((folder / name).stat().st_mtime for name in ("run.json", "journal.jsonl") if (folder / name).exists())
