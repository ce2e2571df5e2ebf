from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from lottery_tables import tables

from headcount.figures.bleu_by_heads import DODGE, Panel, _figure, _points
from headcount.figures.groups import groups, read
from headcount.figures.style import paper_style


def test_encoder_pruning_has_a_panel_of_its_own(tables_of: Callable[..., Path]) -> None:
    with paper_style():
        figure = _figure(read(tables_of(), "runs"))
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "encoder heads kept (of 24)",
        "heads kept, all types (of 72)",
    ]
    for axes in figure.axes:
        many, few = axes.get_xlim()
        assert many > few
    assert figure.axes[0].get_shared_y_axes().joined(*figure.axes)
    remarks = [text.get_text() for text in figure.axes[0].texts]
    assert "copying the nearest training sentence: 9.1 BLEU" in remarks
    assert {"0", "0.003", "0.006", "0.01", "0.03"} <= set(remarks)


def test_a_lottery_of_the_encoder_freezes_no_decoder(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(6,), step=9, scope="encoder", variants=("", "michel"))
    with paper_style():
        figure = _figure(read(folder, "runs"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["pruning the encoder"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("dense baseline (softmax)", "L0 gates, with their λ"),
        *("lottery ticket", "random heads in the ticket's layers", "re-initialised ticket"),
    ]


def test_points_stand_at_their_heads_and_beside_each_other(tables_of: Callable[..., Path]) -> None:
    found = [group for group in groups(read(tables_of(), "runs")) if group.bleu() and group.method != "lookup"]
    points = _points(Panel("", "", "heads", found), None, width=72.0)
    assert len(points) == len(found)
    places = sorted(point.x for point in points)
    assert all(right - left > 0 for left, right in pairwise(places))
    alone = next(point for point in points if point.group.scope == "all" and point.group.penalty == 0.003)
    assert alone.x == pytest.approx(alone.heads.centre, abs=DODGE * 72)
