from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headcount.figures.gate_trajectories import LEVELS, _figure, _rectangles
from headcount.figures.groups import read
from headcount.figures.style import paper_style


def test_bars_cover_the_whole_time_and_keep_the_values() -> None:
    updates = np.array([10.0, 20.0, 30.0, 40.0])
    probabilities = np.array([[1.0, 1.0, 0.5, 0.0], [0.9, 0.9, 0.9, 0.9]])
    bars = _rectangles(updates, probabilities)
    boxes = [path.get_extents() for path in bars.get_paths()]
    assert sum(box.width for box in boxes) == pytest.approx(2 * 40)
    assert [(box.x0, box.x1) for box in boxes] == [(0, 20), (20, 30), (30, 40), (0, 40)]
    values = bars.get_array()
    assert values is not None
    assert np.abs(values - [1.0, 0.5, 0.0, 0.9]).max() <= 0.5 / LEVELS


def test_one_panel_for_each_penalty_and_a_colour_bar(tables_of: Callable[..., Path]) -> None:
    with paper_style():
        figure = _figure(read(tables_of(), "runs"), read(tables_of(), "gates"))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"λ = {value}" for value in ("0", "0.003", "0.006", "0.01", "0.03", "0", "0.003", "0.01")] + [""]
