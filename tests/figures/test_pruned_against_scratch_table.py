from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pruned_runs import gated, paper, run

from headcount.figures.groups import groups
from headcount.figures.pruned_against_scratch_table import AHEAD, RANDOM, _ours, _papers, draw
from headcount.figures.tabular import Cell, Table

MINUS = "\N{MINUS SIGN}"


def twin(method: str, bleu: float, seed: int = 1) -> Any:
    name = f"{method}-all-0.1-s{seed}"
    return run(name, method, (2, 4, 6), bleu, scope="all", setting="λ=0.1", seed=seed)


RUNS = [
    run("baseline-s1", "baseline"),
    gated("all", 0.0, (8, 8, 8), 20.25, p_value=0.5),
    gated("all", 0.1, (2, 4, 6), 19.0, p_value=0.0001),
    gated("all", 0.2, (1, 1, 1), 10.0),
    gated("encoder", 0.1, (1, 8, 8), 18.0),
    twin("scratch", 18.25),
]


def table_of(rows: list[Any]) -> Table:
    return _ours("en-de", groups(pd.DataFrame(rows)))


def cell(table: Table, row: int, column: tuple[str, str]) -> str:
    found = table.rows[row][list(table.columns).index(column)]
    return found.text if isinstance(found, Cell) else found


def test_rows_are_the_dense_model_the_control_and_the_models_with_a_twin() -> None:
    table = table_of(RUNS)
    assert [row[0] for row in table.rows] == ["dense", "λ = 0 (control)", "λ = 0.1"]
    assert list(table.rows[2][1:7]) == ["2", "4", "6", "12", "19.00 [18.00, 21.00]", "18.25 [17.25, 20.25]"]
    assert list(table.rows[2][7:]) == ["+0.75", Cell(f"{MINUS}1.00", bold=True), "< 0.001"]
    assert list(table.rows[0][5:]) == ["20.00 [19.00, 22.00]", "", "", "", ""]


def test_random_heads_are_a_column_only_where_there_are_some() -> None:
    assert RANDOM not in table_of(RUNS).columns
    table = table_of([*RUNS, twin("random", 15.0)])
    assert [cell(table, row, RANDOM) for row in range(3)] == ["", "", "15.00 [14.00, 17.00]"]


def test_differences_are_taken_seed_by_seed() -> None:
    second = [{**RUNS[2], "run": "l0-all-0.1-s2", "seed": 2, "bleu": 17.0}, twin("scratch", 16.25, seed=2)]
    table = table_of([*RUNS, *second])
    assert cell(table, 2, AHEAD) == "+0.75 ± 0.00"


def test_the_papers_table_stands_below() -> None:
    tables = _papers(paper("table2"))
    assert [table.title for table in tables] == ["paper, WMT", "paper, OpenSubtitles"]
    assert list(tables[0].rows[0]) == ["dense", "48", "48", "48", "144", "29.60", "", ""]
    assert [cell(tables[0], row, AHEAD) for row in range(1, 5)] == ["+0.15", "+0.41", "+0.50", "+0.49"]
    assert [cell(tables[1], row, AHEAD) for row in range(1, 4)] == ["+0.01", "+0.25", "+0.43"]


@pytest.mark.parametrize(("rows", "text"), [(RUNS, "λ = 0.1"), (RUNS[:-1], "No pruned model")])
def test_files_are_written_with_and_without_twins(rows: list[Any], text: str, tmp_path: Path) -> None:
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    draw(tmp_path, tmp_path / "table.html")
    for suffix in ("html", "md"):
        assert text in (tmp_path / f"table.{suffix}").read_text(encoding="utf-8")
