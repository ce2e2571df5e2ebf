from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headcount.figures.groups import groups, read
from headcount.figures.style import paper_style
from headcount.figures.surviving_heads import _figure, _rows


def test_maps_agree_with_the_table(tables_of: Callable[..., Path]) -> None:
    runs, heads = read(tables_of(), "runs"), read(tables_of(), "heads")
    found = [group for group in groups(runs) if group.method in ("l0", "round", "ticket")]
    rows = _rows(found, heads)
    kept = [sum(int((survived == row.rounds).sum()) for survived in row.survived.values()) for row in rows]
    single = [int(group.rows["heads"].iloc[0]) for group in found if group.method != "round"]
    last_round = min(int(group.rows["heads"].iloc[0]) for group in found if group.method == "round")
    assert kept == [*single, last_round]
    assert rows[-1].rounds == 6


def test_the_control_that_prunes_nothing_is_left_out(tables_of: Callable[..., Path]) -> None:
    with paper_style():
        figure = _figure(read(tables_of(), "runs"), read(tables_of(), "heads"))
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert "L0, encoder\nλ = 0.01" in texts
    assert "L0, encoder\nλ = 0" not in texts
    assert len(figure.axes) == 3 * (4 + 2 + 2 + 1)
