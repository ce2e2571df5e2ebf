from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle, StepPatch

from headcount.figures.alpha_density import BINS, _figure
from headcount.figures.groups import read
from headcount.figures.style import paper_style


def test_histograms_hold_every_head_and_sentence(tables_of: Callable[..., Path]) -> None:
    tables = tables_of()
    with paper_style():
        figure = _figure(*(read(tables, name) for name in ("runs", "alpha", "observations", "density")))
    assert len(figure.axes) == 9
    for axes in figure.axes[3:6]:
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert (len(bars), sum(bar.get_height() for bar in bars)) == (BINS, 24)
    for axes in figure.axes[6:]:
        steps = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
        assert len(steps) == 2 * 2
        for step in steps:
            values = step.get_data().values
            assert (len(values), values.sum()) == (BINS, pytest.approx(1))
            assert values.max() <= axes.get_ylim()[1]
        assert axes.get_title(loc="right") == "softmax: 100% in the last bin"
