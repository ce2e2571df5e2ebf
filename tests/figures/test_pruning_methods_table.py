from __future__ import annotations

from pathlib import Path

import pytest
from lottery_tables import tables

from headcount.figures.equal_heads import contests
from headcount.figures.groups import read
from headcount.figures.pruning_methods_table import COLUMNS, _table, draw
from headcount.figures.tabular import Cell


def cell(row: list[str | Cell], heading: str) -> str | Cell:
    return row[[name for _, name in COLUMNS].index(heading)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tables(tmp_path, seeds=(1, 2), sizes=(18,), step=18, variants=("", "michel"))


def test_every_setting_has_a_row_and_the_best_of_a_method_is_marked(folder: Path) -> None:
    (contest,) = contests(read(folder, "runs"), read(folder, "curves"))
    rows = [list(row) for row in _table(contest, "").rows]
    names = [cell(row, "model") for row in rows]
    bold = [name.text for name in names if isinstance(name, Cell) and name.bold]
    assert bold == [
        "L0 gates, long (best)",
        "re-initialised, trained longer, 0.002 (best)",
        "ranked after training, michel, iterative (best)",
        "ranked after training, michel, one shot (best)",
        "ranked after training, michel, rate rewound (best)",
        "learned subset, gumbel (best)",
    ]
    assert len(rows) == 1 + len(contest.models) + 2
    ticket = next(row for row in rows if row[1] == Cell("lottery ticket", dot="#D55E00"))
    assert (cell(ticket, "heads asked for"), cell(ticket, "seeds"), cell(ticket, "updates")) == ("18", "2", "2,960")
    assert sum(float(str(cell(ticket, kind))) for kind in ("encoder", "decoder self", "cross")) == 18


def test_files_are_written_with_and_without_models(folder: Path, tmp_path: Path) -> None:
    draw(folder, tmp_path / "full.html")
    assert "lottery ticket" in (tmp_path / "full.md").read_text(encoding="utf-8")
    runs = read(folder, "runs")
    runs[runs["method"] == "baseline"].to_csv(folder / "runs.csv", index=False)
    draw(folder, tmp_path / "empty.html")
    assert "No model was asked to keep" in (tmp_path / "empty.md").read_text(encoding="utf-8")
