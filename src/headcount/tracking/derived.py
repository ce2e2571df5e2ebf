"""MLflow runs without a run folder of their own: the parent of a seed's lottery rounds, and the study's summary."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from headcount.tracking.names import digest
from headcount.tracking.payload import Payload, Point, curve, head_counts, read_journal, read_yaml

SUMMARY = "summary"

PATTERNS = ("tables/*.csv", "figures/*.svg", "figures/*.png", "report.html", "data/*/manifest.json")
"""What the summary run carries, relative to the study's folder."""

COLUMNS = {
    "run": "run",
    "heads": "heads",
    "bleu": "BLEU",
    "bleu_low": "low",
    "bleu_high": "high",
    "bleu_delta": "Δ BLEU",
    "p_value": "p",
    "chrf": "chrF",
    "speedup": "speed-up",
}
"""Columns of `tables/runs.csv` that the summary's description shows, and their headings."""

LONGEST_NOTE = 5000
ROUND_ONLY = ("run", "parents", "setting", "lottery.round")
"""Settings of a round that its siblings do not share."""


def lottery_payload(study_folder: Path, rounds: Sequence[Payload]) -> Payload:
    """Sum up the rounds of one seed, in their order: heads kept and last loss after each finished one, step = round."""
    first = rounds[0]
    points: list[Point] = []
    for payload in rounds:
        if payload.status != "FINISHED":
            continue
        folder = study_folder / "runs" / payload.run
        number = int(read_yaml(folder / "run.yaml").get("lottery", {}).get("round", 0))
        values: dict[str, float] = {f"heads_{kind}": kept for kind, kept in head_counts(folder).items()}
        for (metric, _), point in curve(read_journal(folder / "journal.jsonl"))[0].items():
            if metric in ("train/loss", "valid/loss", "valid/bleu"):  # sorted by update: the last one stays
                values[metric.replace("/", "_")] = point.value
        points += [
            Point(f"lottery/{key}", number, value, payload.started - first.started) for key, value in values.items()
        ]
    states = [payload.status for payload in rounds]
    status = next((state for state in ("RUNNING", "FAILED", "KILLED") if state in states), "FINISHED")
    return Payload(
        run=first.parent,
        settings=first.settings,
        status=status,
        started=min(payload.started for payload in rounds),
        ended=0.0 if status == "RUNNING" else max(payload.ended for payload in rounds),
        tags={
            **{key: first.tags[key] for key in ("paper", "seed", "scope") if key in first.tags},
            "method": "lottery",
            "stage": first.tags.get("stage", ""),
            "setting": f"{len(rounds)} rounds",
            "mlflow.note.content": "The rounds of the lottery: each rewinds the survivors, trains them shortly and "
            "removes the lowest-ranked heads. Steps are rounds; the rounds themselves hang below this run.",
        },
        params={key: value for key, value in first.params.items() if key not in ROUND_ONLY},
        points=tuple(points),
    )


def summary_payload(study_folder: Path) -> Payload | None:
    """Collect tables, figures and the report of a study; None while there are none."""
    paths = sorted(path for pattern in PATTERNS[:-1] for path in study_folder.glob(pattern))
    if not paths:
        return None
    paths += study_folder.glob(PATTERNS[-1])
    files: dict[str, Path | str] = {str(path.relative_to(study_folder)): path for path in paths}
    identity = digest("\n".join(f"{name} {digest(path.read_bytes())}" for name, path in zip(files, paths, strict=True)))
    written = [path.stat().st_mtime for path in paths]
    table = study_folder / "tables" / "runs.csv"
    return Payload(
        run=SUMMARY,
        settings=identity[:16],
        status="FINISHED",
        started=min(written),
        ended=max(written),
        tags={
            **dict.fromkeys(("paper", "method", "stage"), SUMMARY),
            "mlflow.source.name": "headcount report",
            "mlflow.source.type": "JOB",
            "mlflow.note.content": results_note(table) if table.exists() else "Tables, figures and report.",
        },
        files=files,
    )


def results_note(table: Path) -> str:
    """Write `tables/runs.csv` as a Markdown table, best BLEU first, as many rows as a description may hold."""
    with table.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    columns = [key for key in COLUMNS if rows and key in rows[0]]
    rows.sort(key=lambda row: -_number(row.get("bleu", "")))
    lines = [
        "All artifacts of the study: tables, figures, report.",
        "",
        _row(COLUMNS[key] for key in columns),
        _row("---" if key == "run" else "---:" for key in columns),
    ]
    for shown, row in enumerate(rows):
        line = _row(_short(row[key] or "") for key in columns)
        if sum(len(text) + 1 for text in lines) + len(line) > LONGEST_NOTE - 60:
            lines += ["", f"{len(rows) - shown} more in `tables/runs.csv`."]
            break
        lines.append(line)
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("-inf")


def _short(text: str) -> str:
    value = _number(text)
    return (
        text if value == float("-inf") or value.is_integer() else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    )
