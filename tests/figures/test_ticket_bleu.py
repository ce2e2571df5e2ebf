from __future__ import annotations

from pathlib import Path

import pandas as pd
from lottery_tables import tables
from pruned_runs import run

from headcount.figures.equal_heads import contests
from headcount.figures.groups import read
from headcount.figures.style import look, paper_style
from headcount.figures.ticket_bleu import _figure, panels

NO_CURVES = pd.DataFrame(columns=["run", "metric", "update", "value"])


def test_controls_and_other_tickets_have_panels_of_their_own(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2), sizes=(36, 18), step=18, variants=("", "michel", "random"))
    runs, curves = read(folder, "runs"), read(folder, "curves")
    ((_, same), (_, others)) = panels(contests(runs, curves)[0])
    assert [arm.name for arm in same] == ["ticket", "same_counts", "reinit", "reinit_longer"]
    assert [arm.name for arm in others] == ["ticket", "ticket-michel", "ticket-random"]
    with paper_style():
        figure = _figure(runs, curves)
    left, right = figure.axes
    assert left.get_xlabel() == "heads removed"
    assert left.get_shared_y_axes().joined(left, right)
    of_ticket = [line for line in right.lines if line.get_color() == look("ticket").colour]
    ticket = next(line for line in of_ticket if line.get_linestyle() == "-")
    mean = runs[(runs["method"] == "ticket") & (runs["variant"] == "")].groupby("target_heads")["bleu"].mean()
    assert list(ticket.get_ydata()) == [mean[36], mean[18]]


def test_a_ticket_alone_is_drawn_alone(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(18,), step=18, variants=("",))
    runs = read(folder, "runs")
    runs = runs[runs["method"].isin(["baseline", "ticket"])]
    with paper_style():
        figure = _figure(runs, read(folder, "curves"))
    assert len(figure.axes) == 1


def test_without_tickets_the_figure_says_so() -> None:
    with paper_style():
        figure = _figure(pd.DataFrame([run("baseline-s1", "baseline")]), NO_CURVES)
    assert [text.get_text() for text in figure.texts] == ["no lottery ticket has a BLEU score"]
