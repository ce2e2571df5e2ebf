from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer
from pruned_runs import paper
from role_tables import role, write

from headcount.figures.dependency_accuracy import _figure, accuracies, draw, printed
from headcount.figures.style import paper_style

SUBJECT = "nsubj:to_dependent"


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows)


ONE_SEED = table(
    role("baseline-s1", 0, 0, SUBJECT, hits=3, cases=10, named=0),
    role("baseline-s1", 1, 2, SUBJECT, hits=8, cases=10),
    role("baseline-s1", 0, 0, SUBJECT, hits=2, cases=10, labels="shuffled", named=0),
    role("baseline-s1", 1, 2, SUBJECT, hits=1, cases=10, labels="shuffled", named=0),
    role("baseline-s1", 0, 1, "-1", hits=95),
    role("l0-encoder-0.1-s1", 0, 1, SUBJECT, hits=10, cases=10),
)


def test_the_best_head_is_found_for_true_and_for_shuffled_labels() -> None:
    (found,) = accuracies(ONE_SEED)
    assert (found.corpus, found.role, found.heads, found.where) == ("en-de", SUBJECT, 2, ("2.3",))
    assert (found.best.centre, found.shuffled, found.baseline, found.cases) == (0.8, 0.2, 0.35, 10)
    assert found.named


def test_the_interval_of_one_seed_is_wilsons() -> None:
    best = accuracies(ONE_SEED)[0].best
    assert (best.low, best.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)  # Wilson's interval of 8 in 10
    (perfect,) = accuracies(table(role("baseline-s1", 0, 0, SUBJECT, hits=10, cases=10)))
    assert perfect.best.high == pytest.approx(1)
    assert perfect.best.low < 0.8


def test_seeds_are_averaged_each_with_its_own_best_head() -> None:
    (found,) = accuracies(
        table(
            role("baseline-s1", 0, 0, SUBJECT, hits=40),
            role("baseline-s1", 0, 1, SUBJECT, hits=60),
            role("baseline-s2", 0, 0, SUBJECT, hits=80, named=0),
            role("baseline-s2", 0, 1, SUBJECT, hits=50),
        )
    )
    assert (found.best.centre, found.best.seeds, found.where) == (pytest.approx(0.7), 2, ("1.2", "1.1"))
    assert found.best.error == pytest.approx((np.std([0.6, 0.8], ddof=1),) * 2)
    assert not found.named
    assert np.isnan(found.shuffled)


def test_a_role_without_cases_has_no_accuracy() -> None:
    row = {**role("baseline-s1", 0, 0, SUBJECT), "cases": 0, "value": np.nan}
    assert accuracies(table(row)) == []


def test_bars_are_ours_then_the_papers() -> None:
    with paper_style():
        figure = _figure(accuracies(ONE_SEED), paper("table1"))
    (axes,) = figure.axes
    heights = [bar.get_height() for group in axes.containers if isinstance(group, BarContainer) for bar in group]
    assert heights == pytest.approx([0.8, 0.45, 0.77])
    assert axes.get_ylabel() == "accuracy, best of 2 heads"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["verb →\nsubject"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:3] == ["en-de", "paper: WMT", "paper: OpenSubtitles"]


def test_the_papers_numbers_are_shares() -> None:
    shares = printed(paper("table1"))
    assert list(shares) == ["WMT", "OpenSubtitles"]
    assert shares["WMT"].loc["dobj:to_head", ["best", "baseline"]].tolist() == pytest.approx([0.73, 0.41])


def test_without_parses_the_figure_says_so(tmp_path: Path) -> None:
    write(tmp_path, roles=ONE_SEED[ONE_SEED["kind"] == "positional"])
    draw(tmp_path, tmp_path / "accuracy.svg")
    assert (tmp_path / "accuracy.svg").is_file()
    with paper_style():
        figure = _figure([], paper("table1"))
    assert [text.get_text() for text in figure.texts] == ["no corpus of this study has parses"]
