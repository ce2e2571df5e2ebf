from __future__ import annotations

from pathlib import Path

from lottery_tables import tables

from headcount.figures.groups import read
from headcount.figures.heads_by_round_table import _table, draw
from headcount.figures.lottery_rounds import left, main_rounds


def test_a_row_has_the_means_of_its_round_and_their_sum(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2), sizes=(36,), step=18, variants=("",))
    found = left(next(main_rounds(read(folder, "runs"), read(folder, "rounds")))[1])
    table = _table("en-de", found)
    assert [row[:2] for row in table.rows] == [["dense", "72"], ["1", "54"], ["2", "36"]]
    assert table.rows[0][2:] == ["8"] * 9
    for row in table.rows:
        assert sum(float(str(cell)) for cell in row[2:]) == float(str(row[1]))
    assert table.notes == ["Layers are counted from the input. Means over 2 seeds."]


def test_a_study_without_rounds_has_a_note(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36,), step=36, variants=("michel",))
    draw(folder, tmp_path / "table.html")
    assert "No lottery round has ranked heads." in (tmp_path / "table.md").read_text(encoding="utf-8")
