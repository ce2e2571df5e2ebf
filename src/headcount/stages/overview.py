"""What a person reads in the terminal: the plan before a study, the summary after it, the way on after a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headcount import estimate, plan
from headcount.config import Study, studies

RESULTS = Path("results")
LOG_LINES = 12
"""Last lines of a failed run's log that are shown."""


def plan_rows(study: Study, results: Path = RESULTS) -> list[dict[str, Any]]:
    """Return one row for each run: stage, parents, updates, seconds and where the seconds come from."""
    settings = studies(study)
    rows = []
    for run in plan.runs(study).values():
        record = _record(results / study.study / "runs" / run.run)
        measured = record.get("seconds") if record.get("status") == "finished" else None
        own = settings[run.corpus]
        guess = estimate.cpu_seconds(run, own.subword.vocabulary, own.model.model_dump())
        rows.append(
            {
                "run": run.run,
                "corpus": run.corpus,
                "stage": run.stage,
                "setting": run.setting,
                "parents": list(run.parents),
                "updates": estimate.updates(run),
                "seconds": round(measured if measured is not None else guess, 1),
                "measured": measured is not None,
            }
        )
    return rows


def plan_json(study: Study) -> str:
    """Render the plan for machines."""
    return json.dumps(plan_rows(study), indent=2, ensure_ascii=False)


def plan_table(study: Study) -> None:
    """Print the plan for people."""
    rows = plan_rows(study)
    table = Table(title=f"study {study.study}: {len(rows)} runs", title_justify="left")
    for heading in ("run", "stage", "parents"):  # a run's id names its setting
        table.add_column(heading, no_wrap=heading != "parents", overflow="fold")
    for heading in ("updates", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        seconds = f"{row['seconds']:.0f}" + ("" if row["measured"] else " est.")
        table.add_row(row["run"], row["stage"], "\n".join(row["parents"]), str(row["updates"]), seconds)
    console = Console()
    console.print(table)
    total = sum(row["seconds"] for row in rows)
    console.print(
        f"{total / 60:.0f} CPU-minutes of training on one thread each, about {total / 120:.0f} minutes on two cores, "
        "evaluation excluded.\n"
        f"est. = from matrix products at {estimate.GFLOPS_PER_THREAD:.0f} GFLOP/s a thread, good to a factor of two; "
        "the others were measured here. `headcount cost` counts every job, disk and critical path."
    )


def say_finished(study: Path) -> None:
    """Print the scores of a finished study, where its files are and what to do next."""
    console = Console()
    table = study / "figures" / "all-summary_table.md"
    if table.is_file():
        console.print(table.read_text(encoding="utf-8"), markup=False, highlight=False, soft_wrap=True)
    lines = [
        ("report", study / "report.html", "make report"),
        ("tables", study / "tables" / "runs.csv", "snakemake"),
        ("figures", study / "figures", "snakemake"),
        ("runs", study / "runs", "snakemake"),
    ]
    for what, path, command in lines:
        console.print(f"{what:8} {path if path.exists() else f'not there yet: {command}'}", highlight=False)
    console.print("next     make ui (the runs in MLflow), make publish (commit tables and figures)", highlight=False)


def say_failed(study: Path) -> None:
    """Print the failed runs with the last lines of their logs, and how to go on."""
    console = Console(stderr=True)
    for folder in sorted((study / "runs").glob("*")):
        status = _record(folder).get("status")
        if status in ("failed", "killed", "interrupted", "running"):
            log = study / "logs" / "train" / f"{folder.name}.log"
            said = "killed without a word, or still at work" if status == "running" else status
            console.print(f"{folder.name}: {said}; log {log}", highlight=False)
            if log.is_file():
                lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
                console.print("\n".join(f"    {line}" for line in lines), markup=False, highlight=False)
    console.print(
        f"Finished runs are kept under {study}/runs. When the cause is repaired, the same command goes on: "
        "trainings continue from their last checkpoint.",
        highlight=False,
    )


def _record(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    if not path.is_file():
        return {}
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record
