"""What the stage `speed` measured, as a table: a small study folder made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headcount.analysis.outcomes import _speed
from headcount.analysis.speeds import COLUMNS, speeds_table
from headcount.analysis.study import FinishedRun

CONDITIONS = [(4, 32), (1, 32)]
PROFILE = {"matrix_products": 0.004, "attention": 0.001, "cache": 0.0005, "rest": 0.002}


def timed(run: str, timed_run: str, beam: int, batch: int, seconds: float) -> dict[str, Any]:
    removed = run != "baseline-s1"
    return {
        "run": run,
        "timed_run": timed_run,
        "beam": beam,
        "sentences_per_batch": batch,
        "seconds_per_sentence": seconds,
        "low": seconds - 0.001,
        "high": seconds + 0.001,
        "speedup_vs_dense": 0.008 / seconds,
        "speedup_vs_masked": 0.009 / seconds if removed else None,
        "ceiling": 1.2 if removed else 1.0,
        "profile": None if removed else PROFILE,
    }


@pytest.fixture
def study(tmp_path: Path) -> Path:
    seconds = {"baseline-s1": 0.008, "l0-s1": 0.006, "ticket-s1": 0.006, "gone-s1": 0.006}
    rows = [
        timed(run, "l0-s1" if removed else run, beam, batch, one / (5 - beam))
        for beam, batch in CONDITIONS
        for run, one in seconds.items()
        for removed in [run != "baseline-s1"]
    ]
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "en-de-s1.json").write_text(json.dumps({"conditions": {}, "rows": rows}))
    return tmp_path


def finished(*names: str) -> list[FinishedRun]:
    return [FinishedRun(Path(name), {"run": name, "corpus": "en-de"}, {}) for name in names]


def test_a_row_for_each_run_and_condition_in_the_order_of_the_runs(study: Path) -> None:
    table = speeds_table(study, finished("ticket-s1", "baseline-s1", "unfinished-s1"))
    assert list(table.columns) == list(COLUMNS)
    keys = [tuple(row) for row in table[["run", "beam", "sentences_per_batch"]].itertuples(index=False)]
    assert keys == [(run, *condition) for run in ("ticket-s1", "baseline-s1") for condition in CONDITIONS]
    ticket, dense = table.iloc[0], table.iloc[2]
    assert (ticket["timed_run"], dense["timed_run"]) == ("l0-s1", "baseline-s1")
    assert ticket["seconds_per_sentence"] == 0.006
    assert ticket["speedup"] == pytest.approx(8 / 6)
    assert (ticket["ceiling"], dense["ceiling"]) == (1.2, 1.0)
    assert dense["seconds_matrix_products"] == 0.004
    assert pd.isna(ticket["seconds_matrix_products"])
    assert pd.isna(dense["speedup_vs_masked"])


def test_the_table_of_runs_shows_the_first_condition(study: Path) -> None:
    assert {run: row["beam"] for run, row in _speed(study).items()} == dict.fromkeys(
        ("baseline-s1", "l0-s1", "ticket-s1", "gone-s1"), 4
    )
    assert _speed(study)["l0-s1"]["seconds_per_sentence"] == 0.006


def test_a_study_that_was_not_timed_has_an_empty_table(tmp_path: Path) -> None:
    table = speeds_table(tmp_path, finished("baseline-s1"))
    assert table.empty
    assert list(table.columns) == list(COLUMNS)
