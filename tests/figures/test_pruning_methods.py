from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from lottery_tables import tables

from headcount.figures.groups import read
from headcount.figures.pruning_methods import SHOWN, _figure, blocks
from headcount.figures.style import paper_style


def test_every_way_has_a_line_for_each_number_of_heads(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2), sizes=(36, 18), step=18, variants=("", "michel", "random"))
    runs, curves = read(folder, "runs"), read(folder, "curves")
    found = blocks(runs, curves)
    assert [block.title for block in found] == ["36 of 72 heads kept", "18 of 72 heads kept", "smaller dense models"]
    labels = [line.label for line in found[0].lines]
    assert len(labels) == len(SHOWN)
    assert "L0 gates (best of 2)" in labels
    assert [line.label for line in found[-1].lines] == ["narrow", "shallow"]
    with paper_style():
        figure = _figure(runs, curves)
    bleu, heads, speed = figure.axes[:3]
    assert [label.get_text() for label in bleu.get_yticklabels()] == labels
    widths = pd.Series([bar.get_width() for bar in heads.patches]).groupby([bar.get_y() for bar in heads.patches]).sum()
    assert list(widths) == pytest.approx([36] * len(labels))
    assert speed.texts[0].get_text() == "2,840"


def test_a_number_of_heads_with_one_way_is_no_comparison(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36, 18), step=18, variants=("",))
    runs = read(folder, "runs")
    alone = runs[
        runs["method"].isin(["baseline", "ticket"]) | ((runs["target_heads"] == 18) & (runs["method"] == "reinit"))
    ]
    assert [block.title for block in blocks(alone, read(folder, "curves"))] == ["18 of 72 heads kept"]
    with paper_style():
        figure = _figure(runs[runs["method"] == "ticket"], read(folder, "curves"))
    assert [text.get_text() for text in figure.texts] == ["no two ways kept as many heads"]
