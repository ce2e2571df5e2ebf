from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lottery_tables import tables

from headcount.figures.groups import groups, read
from headcount.figures.style import paper_style
from headcount.figures.surviving_heads import _figure, _rows, shown


def test_maps_agree_with_the_table(tables_of: Callable[..., Path]) -> None:
    runs, heads = read(tables_of(), "runs"), read(tables_of(), "heads")
    found = [group for group in groups(runs) if group.method in ("l0", "round", "ticket")]
    rows = _rows(found, heads)
    kept = [sum(int((survived == row.rounds).sum()) for survived in row.survived.values()) for row in rows]
    single = [int(group.rows["heads"].iloc[0]) for group in found if group.method != "round"]
    last_round = min(int(group.rows["heads"].iloc[0]) for group in found if group.method == "round")
    assert kept == [*single, last_round]
    assert rows[-1].rounds == 6


def test_variants_are_shown_by_their_rounds(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36,), step=18, variants=("", "per_layer"))
    runs = read(folder, "runs")
    chosen = shown(runs[runs["method"].isin(["ticket", "round"])])
    assert [(group.method, group.variant) for group in chosen] == [
        *[("round", "")] * 2,
        *[("round", "per_layer")] * 2,
        ("ticket", ""),
    ]
    names = [row.name for row in _rows(chosen, read(folder, "heads"))]
    assert names == [
        "lottery ticket\n36 of 72 heads",
        "lottery:\nround of removal",
        "lottery, per layer:\nround of removal",
    ]


def test_the_control_that_prunes_nothing_is_left_out(tables_of: Callable[..., Path]) -> None:
    with paper_style():
        figure = _figure(read(tables_of(), "runs"), read(tables_of(), "heads"))
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert "L0, encoder\nλ = 0.01" in texts
    assert "L0, encoder\nλ = 0" not in texts
    assert len(figure.axes) == 3 * (4 + 2 + 2 + 1)
