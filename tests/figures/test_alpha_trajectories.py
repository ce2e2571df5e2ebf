from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pruned_runs import run
from sparse_study import RUNS, paper, texts

from headcount.figures.alpha_trajectories import NAMED, NEXT, PAPER_UPDATES, _apart, _figure, named
from headcount.figures.style import PAPER, paper_style

CURVES = {(0, 0): (1.2, 1.1, 1.9), (0, 1): (1.5, 1.4, 1.3), (1, 0): (1.6, 1.3, 1.6)}
"""α by (layer, head) at three updates."""


def alpha(name: str = "entmax_alpha-s1") -> pd.DataFrame:
    rows = [
        (name, "en-de", 100 * (step + 1), "encoder", layer, head, value)
        for (layer, head), curve in CURVES.items()
        for step, value in enumerate(curve)
    ]
    return pd.DataFrame(rows, columns=["run", "corpus", "update", "attention", "layer", "head", "alpha"])


def figure_of(runs: list[object], table: pd.DataFrame, numbers: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), table, numbers)


def test_heads_are_named_once_by_the_first_reason() -> None:
    heads = alpha().pivot(index="update", columns=["layer", "head"], values="alpha")
    assert named(heads) == {"largest change": (0, 0), "lowest at the end": (0, 1)}
    assert set(named(heads)) < set(NAMED)


def test_every_head_and_their_mean_are_drawn() -> None:
    axes = figure_of(RUNS, alpha(), paper("figure2").iloc[:0]).axes[0]
    curves = [list(line.get_ydata()) for line in axes.lines]
    assert curves[:3] == [list(curve) for curve in CURVES.values()]
    assert curves[3] == pytest.approx([4.3 / 3, 3.8 / 3, 4.8 / 3])
    assert curves[4:] == [list(CURVES[0, 0]), list(CURVES[0, 1])]
    assert texts(axes) == ["1.1", "1.2", "rank correlation of start and end: -0.50", "mean 1.43 → 1.60"]


def test_heads_of_the_paper_lie_on_the_same_share_of_the_training() -> None:
    axes = figure_of(RUNS, alpha(), paper("figure2")).axes[0]
    grey = [line for line in axes.lines if line.get_color() == PAPER]
    assert len(grey) == 4
    assert list(grey[0].get_ydata()) == [1.18, 1.044, 1.05]
    assert list(grey[0].get_xdata()) == [0, 2036 / PAPER_UPDATES * 300, 300]


def test_only_the_first_seed_is_drawn() -> None:
    runs = [*RUNS, run("entmax_alpha-s2", "entmax_alpha", seed=2)]
    other = alpha("entmax_alpha-s2").assign(alpha=2.0)
    axes = figure_of(runs, pd.concat([other, alpha()]), paper("figure2").iloc[:0]).axes[0]
    assert max(max(line.get_ydata()) for line in axes.lines) == 1.9


def test_names_keep_their_distance() -> None:
    assert _apart([1.9, 1.2, 1.21]) == pytest.approx([1.9, 1.2, 1.2 + NEXT])


def test_without_learned_alpha_the_figure_says_so() -> None:
    figure = figure_of(RUNS[:2], alpha(), paper("figure2"))
    assert [text.get_text() for text in figure.texts] == ["no run learned its α"]
