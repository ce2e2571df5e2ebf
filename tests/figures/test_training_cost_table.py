from __future__ import annotations

from pathlib import Path

from lottery_tables import tables

from headcount.figures.equal_heads import contests
from headcount.figures.groups import read
from headcount.figures.tabular import Cell
from headcount.figures.training_cost_table import _table, draw


def test_updates_of_dense_model_rounds_and_own_add_up(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2), sizes=(36,), step=18, variants=("",))
    (contest,) = contests(read(folder, "runs"))
    rows = {row[1].text: row for row in _table(contest, "").rows if isinstance(row[1], Cell)}
    assert rows["lottery ticket"][:1] + rows["lottery ticket"][2:6] == ["36", "260", "240", "2,340", "2,840"]
    assert rows["re-initialised ticket"][2:6] == ["260", "240", "2,600", "3,100"]
    assert rows["L0 gates"][2:6] == ["2,600", "0", "400", "3,000"]
    assert rows["dense baseline (softmax)"][2:6] == ["0", "0", "2,600", "2,600"]
    assert all(len(row) == 10 for row in rows.values())


def test_what_was_not_counted_is_empty(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36,), step=36, variants=("",))
    runs = read(folder, "runs").drop(columns=["updates_total", "seconds_per_update"])
    (contest,) = contests(runs)
    row = next(row for row in _table(contest, "").rows if row[1] == Cell("lottery ticket", dot="#D55E00"))
    assert row[2:7] == ["", "120", "2,340", "", ""]


def test_a_study_without_pruning_has_a_note(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36,), step=36, variants=("",))
    runs = read(folder, "runs")
    runs[runs["method"] == "baseline"].to_csv(folder / "runs.csv", index=False)
    draw(folder, tmp_path / "table.html")
    assert "No model was asked to keep a number of heads." in (tmp_path / "table.md").read_text(encoding="utf-8")
