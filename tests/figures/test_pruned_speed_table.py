from __future__ import annotations

from pathlib import Path

import pandas as pd
from timed_runs import CONDITIONS, runs, speeds

from headcount.figures.pruned_speed_table import _profile, _table, draw
from headcount.figures.tabular import Cell, Table


def texts(table: Table) -> list[list[str]]:
    return [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in table.rows]


def test_a_row_for_each_timed_model_with_its_ceiling() -> None:
    table = _table(runs(), speeds((4, 32), (4, 1)))
    assert [heading for _, heading in table.columns] == [
        *("model", "heads kept", "beam 4"),
        *("ms", "speed-up", "ms", "speed-up"),
    ]
    assert texts(table) == [
        ["dense baseline (softmax)", "24", "1.00", "20.0", "1.00", "10.0", "1.00"],
        ["L0 gates, encoder, λ = 0.1", "18", "1.20", "18.2", "1.10", "9.09", "1.10"],
        ["lottery ticket", "12", "1.29", "15.4", "1.30", "7.69", "1.30"],
        ["lottery ticket", "6", "1.40", "13.3", "1.50 †", "6.67", "1.50 †"],
    ]


def test_the_mark_is_explained_where_it_stands() -> None:
    assert any("†" in note for note in _table(runs(), speeds((4, 32))).notes)
    below = speeds((4, 32)).assign(speedup=1.0)
    table = _table(runs(), below)
    assert not any("†" in note for note in table.notes)
    assert any("masked instead takes 1.10 times" in note for note in _table(runs(), speeds((4, 32))).notes)


def test_seeds_have_a_spread_where_they_differ() -> None:
    first, second = runs(), runs().assign(seed=2)
    one, two = speeds((1, 1)), speeds((1, 1))
    for table in (second, two):
        for column in {"run", "timed_run"} & set(table):
            table[column] = table[column].str.replace("s1", "s2")
    two["speedup"] += 0.2
    rows = texts(_table(pd.concat([first, second]), pd.concat([one, two])))
    assert rows[2][-1].startswith("1.40 ± 0.14")


def test_the_profile_compares_the_dense_and_the_smallest_model_by_kind() -> None:
    table = _profile(runs(), speeds((4, 32)))
    assert texts(table) == [
        ["beam 4, batch 32", "dense", "24", "5.00", "2.00", "1.00", "2.00", "10.00"],
        ["beam 4, batch 32", "fewest heads", "6", "4.00", "0.50", "0.00", "2.00", "6.50"],
        ["beam 4, batch 32", "speed-up", "", "1.25×", "4.00×", "–", "1.00×", "1.54×"],
    ]


def test_tables_are_written_as_page_and_as_text(tmp_path: Path) -> None:
    runs().to_csv(tmp_path / "runs.csv", index=False)
    speeds(*CONDITIONS).to_csv(tmp_path / "speeds.csv", index=False)
    draw(tmp_path, tmp_path / "table.html")
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "where the time goes" in text
    assert "beam 4, batch 32, speed-up" in text
    pd.DataFrame(columns=speeds((1, 1)).columns).to_csv(tmp_path / "speeds.csv", index=False)
    draw(tmp_path, tmp_path / "empty.html")
    assert "where the time goes" not in (tmp_path / "empty.md").read_text(encoding="utf-8")
