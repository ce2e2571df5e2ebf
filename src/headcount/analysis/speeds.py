"""One row for each timed model and condition: how fast it decodes, and how fast matrix products alone would let it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.analysis.study import FinishedRun, read_json

PROFILE = {f"seconds_{kind}": kind for kind in ("matrix_products", "attention", "cache", "rest")}
"""Column → kind of operation of `evaluate.profile`."""

COLUMNS = {
    "run": "str",
    "corpus": "str",
    "beam": "Int64",
    "sentences_per_batch": "Int64",
    "seconds_per_sentence": "Float64",
    "low": "Float64",
    "high": "Float64",
    "speedup": "Float64",
    "speedup_vs_masked": "Float64",
    "ceiling": "Float64",
    "timed_run": "str",
    **dict.fromkeys(PROFILE, "Float64"),
}
"""Columns of `speeds.csv`."""

SAME = (
    *("run", "timed_run", "beam", "sentences_per_batch"),
    *("seconds_per_sentence", "low", "high", "speedup_vs_masked", "ceiling"),
)
"""Columns that the stage calls alike."""


def timings(study: Path) -> Iterator[dict[str, Any]]:
    """Yield what the stage `speed` wrote, seed by seed, the rows of the first beam and batch size first."""
    for path in sorted((study / "speed").glob("*.json")):
        yield from (read_json(path) or {}).get("rows", [])


def speeds_table(study: Path, runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `speeds.csv`, run by run in the given order.

    `speedup` and `ceiling` compare with the dense baseline of the seed; `timed_run` is the run of the same structure
    whose time it is. `seconds_*` are CPU-seconds a sentence by kind of operation, known of few runs.
    """
    place = {run.run: number for number, run in enumerate(runs)}
    timed = sorted((row for row in timings(study) if row["run"] in place), key=lambda row: place[row["run"]])
    rows = [_row(row, runs[place[row["run"]]].corpus) for row in timed]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _row(row: dict[str, Any], corpus: str) -> dict[str, Any]:
    profile = row.get("profile") or {}
    return {
        **{name: row.get(name) for name in SAME},
        "corpus": corpus,
        "speedup": row.get("speedup_vs_dense"),
        **{column: profile.get(kind) for column, kind in PROFILE.items()},
    }
