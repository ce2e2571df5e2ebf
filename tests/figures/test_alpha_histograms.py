from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from pruned_runs import run
from sparse_study import RUNS, measured, paper, texts

from headcount.figures.alpha_histograms import BINS, _figure
from headcount.figures.style import paper_style

VALUES = pd.DataFrame(
    [
        *measured("entmax_alpha", "alpha", [[1.0, 1.03], [1.5, 2.0]]),
        *measured("entmax_alpha", "alpha", [[1.2, 1.2], [1.2, 1.2]], "decoder_self"),
        *measured("entmax_alpha", "confidence", [[0.5, 0.5]]),
    ]
)


def figure_of(runs: list[object], measures: pd.DataFrame, numbers: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), measures, numbers)


def shares(figure: Figure, panel: int) -> list[list[float]]:
    steps = [patch for patch in figure.axes[panel].patches if isinstance(patch, StepPatch)]
    return [step.get_data().values.tolist() for step in steps]


def test_bins_hold_the_share_of_the_heads_and_of_those_of_the_paper() -> None:
    figure = figure_of(RUNS, VALUES, paper("figure3"))
    ours, theirs = shares(figure, 0)
    assert (len(ours), ours[0], ours[7], ours[-1], sum(ours)) == (BINS, 0.5, 0.25, 0.25, 1)
    assert theirs[:2] == [3 / 48, 11 / 48]
    assert sum(theirs) == pytest.approx(1)
    assert set(texts(figure.axes[0])) == {
        "4 heads: mean 1.38, sd 0.41",
        "paper, 48 heads: mean 1.36, sd 0.30",
    }
    assert texts(figure.axes[2])[0] == "paper, 48 heads: mean 1.17, sd 0.08"
    assert "no head" in texts(figure.axes[2])


def test_corpora_are_rows_and_the_paper_stands_beside_its_own_languages() -> None:
    runs = [*RUNS, run("help-entmax_alpha-s1", "entmax_alpha", corpus="help")]
    other = VALUES.assign(run="help-entmax_alpha-s1", corpus="help")
    figure = figure_of(runs, pd.concat([VALUES, other]), paper("figure3"))
    assert len(figure.axes) == 6
    assert [len(shares(figure, panel)) for panel in (0, 3)] == [2, 1]
    assert texts(figure.axes[3]) == ["help", "4 heads: mean 1.38, sd 0.41"]


def test_seeds_are_pooled() -> None:
    runs = [*RUNS, run("entmax_alpha-s2", "entmax_alpha", seed=2)]
    other = VALUES.assign(run="entmax_alpha-s2", value=1.99)
    figure = figure_of(runs, pd.concat([VALUES, other]), paper("figure3").iloc[:0])
    assert shares(figure, 0)[0][-1] == 5 / 8


def test_without_learned_alpha_the_figure_says_so() -> None:
    figure = figure_of(RUNS[:2], VALUES, paper("figure3"))
    assert [text.get_text() for text in figure.texts] == ["no run learned its α"]
