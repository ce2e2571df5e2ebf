from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from headcount.figures.groups import read
from headcount.figures.style import paper_style
from headcount.figures.training_curves import _figure


def test_lines_are_the_means_over_the_seeds(tables_of: Callable[..., Path]) -> None:
    runs, curves = read(tables_of(seeds=(1, 2)), "runs"), read(tables_of(seeds=(1, 2)), "curves")
    with paper_style():
        figure = _figure(runs, curves)
    loss, bleu = figure.axes
    assert len(loss.lines) == len(bleu.lines) == 7
    both = curves[(curves["metric"] == "valid/loss") & curves["run"].isin(["baseline-s1", "baseline-s2"])]
    expected = both.groupby("update")["value"].mean()
    line = loss.lines[0]
    assert np.array_equal(line.get_xdata(), expected.index)
    assert np.allclose(line.get_ydata(), expected)


def test_fine_tunings_and_rounds_are_not_drawn(tables_of: Callable[..., Path]) -> None:
    with paper_style():
        figure = _figure(read(tables_of(), "runs"), read(tables_of(), "curves"))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "dense baseline (softmax)",
        "1.5-entmax",
        "α-entmax",
        "lottery ticket,\n36 of 72 heads",
        "lottery ticket,\n18 of 72 heads",
        "re-initialised ticket,\n36 of 72 heads",
        "re-initialised ticket,\n18 of 72 heads",
    ]
