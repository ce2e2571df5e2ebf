from __future__ import annotations

from pathlib import Path

from lottery_tables import tables

from headcount.figures.groups import read
from headcount.figures.heads_by_round import _figure
from headcount.figures.lottery_rounds import left, main_rounds
from headcount.figures.style import ATTENTION_LABELS, paper_style


def test_each_type_has_a_panel_and_each_layer_a_curve(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2), sizes=(36,), step=18, variants=("",))
    runs, rounds = read(folder, "runs"), read(folder, "rounds")
    with paper_style():
        figure = _figure(runs, rounds)
    table = left(next(main_rounds(runs, rounds))[1]).groupby("round").mean()
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(ATTENTION_LABELS.values())
    for axes, kind in zip(figure.axes, ATTENTION_LABELS, strict=True):
        curves = [line for line in axes.lines if line.get_linestyle() == "-" and len(line.get_ydata()) == len(table)]
        assert [list(line.get_ydata()) for line in curves] == [list(table[kind][layer]) for layer in range(3)]


def test_without_rounds_the_figure_says_so(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36,), step=36, variants=("",))
    with paper_style():
        figure = _figure(read(folder, "runs"), read(folder, "rounds").iloc[:0])
    assert [text.get_text() for text in figure.texts] == ["no lottery round has ranked heads"]
