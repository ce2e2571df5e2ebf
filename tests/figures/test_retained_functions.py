from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pruned_runs import gated, paper, run
from role_tables import kept, role, write

from headcount.figures.retained_functions import _columns, _figure, _null, draw, kinds
from headcount.figures.style import paper_style

RANDOM = {"scope": "encoder", "setting": "λ=0.01"}
RUNS = pd.DataFrame(
    [
        run("baseline-s1", "baseline"),
        gated("encoder", 0.0, (4, 8, 8), 20),
        gated("encoder", 0.01, (2, 8, 8), 19),
        gated("all", 0.01, (1, 2, 2), 19),
        run("l0-encoder-3h-s1", "l0", (3, 8, 8), scope="encoder", setting="target 3 heads"),
        run("random-encoder-0.01-s1", "random", (2, 8, 8), **RANDOM),
    ]
)
HEADS = pd.DataFrame(
    [
        *kept("baseline-s1", [[1, 1], [1, 1]]),
        *kept("l0-encoder-0-s1", [[1, 1], [1, 1]]),
        *kept("l0-encoder-0.01-s1", [[1, 0], [0, 1]]),
        *kept("l0-encoder-3h-s1", [[1, 0], [1, 1]]),
        *kept("random-encoder-0.01-s1", [[0, 1], [1, 0]]),
        *kept("l0-all-0.01-s1", [[1, 0], [0, 0]]),
    ]
)
ROLES = pd.DataFrame(
    [
        role("baseline-s1", 0, 0, "rare-2"),
        role("baseline-s1", 1, 1, "-1"),
        role("baseline-s1", 1, 0, "-1", named=0),
        role("baseline-s1", 0, 1, "+1", labels="shuffled"),
        role("l0-encoder-0-s1", 0, 0, "rare-2"),
        role("l0-encoder-0.01-s1", 0, 0, "rare-2"),
        role("l0-encoder-0.01-s1", 1, 1, "-1"),
        role("l0-encoder-0.01-s1", 1, 1, "nsubj:to_head"),
        role("l0-encoder-3h-s1", 1, 0, "nsubj:to_head"),
        role("l0-encoder-3h-s1", 1, 0, "dobj:to_head"),
        role("random-encoder-0.01-s1", 0, 1, "-1", named=0),
    ]
)


def test_kept_heads_are_counted_by_the_kinds_of_their_functions() -> None:
    counts = kinds(HEADS, ROLES)
    nothing = dict.fromkeys(("positional", "syntactic", "rare", "several", "unnamed"), 0.0)
    assert counts == {
        "baseline-s1": {**nothing, "positional": 1, "rare": 1, "unnamed": 2},
        "l0-encoder-0-s1": {**nothing, "rare": 1, "unnamed": 3},
        "l0-encoder-0.01-s1": {**nothing, "rare": 1, "several": 1},
        "l0-encoder-3h-s1": {**nothing, "syntactic": 1, "unnamed": 2},
        "random-encoder-0.01-s1": {**nothing, "unnamed": 2},
    }


def test_columns_go_from_all_heads_to_few_without_the_control() -> None:
    columns = _columns(RUNS, kinds(HEADS, ROLES))
    assert [(column.label, column.heads, column.named) for column in columns] == [
        ("dense", 4, 2),
        ("set", 3, 1),
        ("0.01", 2, 2),
    ]
    assert [column.expected for column in columns] == pytest.approx([2, 1.5, 1])
    assert [column.drawn for column in columns] == [(), (), (0,)]


def test_seeds_are_averaged() -> None:
    second = [frame.assign(run=frame["run"].str.replace("-s1", "-s2")) for frame in (RUNS, HEADS, ROLES)]
    twice = [pd.concat([one, two]) for one, two in zip((RUNS, HEADS, ROLES), second, strict=True)]
    runs, heads, roles = twice
    runs["seed"] = runs["run"].str[-1].astype(int)
    heads.loc[(heads["run"] == "l0-encoder-0.01-s2") & (heads["layer"] == 1), "kept"] = 1
    columns = {column.label: column for column in _columns(runs, kinds(heads, roles))}
    assert columns["dense"].heads == 4
    assert columns["0.01"].heads == 2.5
    assert columns["0.01"].kinds["unnamed"] == 0.5
    assert columns["0.01"].drawn == (0, 0)


def test_the_null_is_that_of_drawing_without_replacement() -> None:
    named = [1, 1, 0, 0, 0]
    drawn = [sum(chosen) for chosen in combinations(named, 3)]
    dense = {"rare": 1.0, "positional": 1.0, "unnamed": 3.0}
    assert _null(dense, 3) == pytest.approx((np.mean(drawn), np.std(drawn)))
    assert _null(dense, 5) == (2, 0)
    assert _null({"unnamed": 1.0}, 1) == (0, 0)


def test_stacks_are_as_tall_as_the_heads_kept() -> None:
    with paper_style():
        figure = _figure(RUNS, HEADS, ROLES, paper("figure8"))
    left, right = figure.axes
    tops: dict[int, float] = {}
    for bar in left.patches:
        place = round(bar.get_x() + bar.get_width() / 2)
        tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
    assert tops == {0: 4, 1: 3, 2: 2}
    assert [label.get_text() for label in left.get_xticklabels()] == ["4\ndense", "3\nset", "2\n0.01"]
    pruned = right.lines[0]
    assert list(pruned.get_xdata()) == [1, 0.75, 0.5]
    assert list(pruned.get_ydata()) == pytest.approx([0.5, 1 / 3, 1])
    grey = right.lines[-1]
    assert max(grey.get_xdata()) == 1
    assert grey.get_ydata()[-1] == pytest.approx(14 / 48)


def test_without_pruned_models_the_figure_says_so(tmp_path: Path) -> None:
    dense = RUNS[RUNS["method"] == "baseline"]
    draw(write(tmp_path, runs=dense, heads=HEADS, roles=ROLES), tmp_path / "functions.svg")
    assert (tmp_path / "functions.svg").is_file()
    with paper_style():
        (text,) = _figure(dense, HEADS, ROLES, paper("figure8")).texts
    assert text.get_text() == "no encoder L0 model had its heads named"


def test_every_corpus_whose_encoder_was_pruned_has_a_row() -> None:
    def of_both(table: pd.DataFrame) -> pd.DataFrame:
        other = table.assign(run="x-" + table["run"], corpus="x")
        return pd.concat([table, other], ignore_index=True)

    with paper_style():
        figure = _figure(of_both(RUNS), of_both(HEADS), of_both(ROLES), paper("figure8"))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title.rpartition(", ")[2] for title in titles[::2]] == [str(RUNS["corpus"].iloc[0]), "x"]
