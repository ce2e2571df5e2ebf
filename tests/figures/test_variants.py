from __future__ import annotations

import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from pruned_runs import gated, run
from sparse_study import RUNS, measured, paper, texts

from headcount.figures.style import PAPER
from headcount.figures.variants import best, dense, drawn, first_seed, label, panels, printed, remarks, with_alpha


def test_dense_models_are_those_that_nothing_was_removed_from() -> None:
    runs = pd.DataFrame([*RUNS, gated("all", 0.1, (1, 1, 1), 10.0), run("lookup", "lookup"), run("mine-s1", "mine")])
    assert dense(runs)["method"].tolist() == ["baseline", "entmax15", "entmax_alpha", "mine"]


def test_the_first_seed_is_chosen_by_number_for_each_corpus_and_method() -> None:
    runs = pd.DataFrame(
        [run("baseline-s2", "baseline", seed=2), *RUNS, run("other-s2", "baseline", corpus="x", seed=2)]
    )
    assert first_seed(runs)["run"].tolist() == ["baseline-s1", "entmax15-s1", "entmax_alpha-s1", "other-s2"]


def test_what_is_drawn_is_said_only_where_there_is_more() -> None:
    one = pd.DataFrame(RUNS)
    assert drawn(one, one) == ""
    more = pd.DataFrame([*RUNS, run("other-s2", "baseline", corpus="x", seed=2)])
    assert drawn(more, one) == "en-de, seed 1"


def test_the_papers_numbers_are_found_by_their_x() -> None:
    assert printed(paper("speed"), "training speed") == {"softmax": 100, "1.5-entmax": 90, "alpha-entmax": 75}
    assert printed(paper("figure6"), "encoder softmax mean")["ja-en"] == 0.4
    assert list(printed(paper("figure6"), "en-de encoder softmax")) == ["1", "2", "3", "4", "5", "6"]
    assert printed(paper("speed").iloc[:0], "training speed") == {}


def test_every_table_of_the_paper_counts_all_heads() -> None:
    counts = paper("figure3").query("unit == 'heads'")
    bins = counts[~counts["series"].str.contains("at least")].groupby("series")["y"].sum()
    assert (len(bins), set(bins)) == (4 * 3, {48})


def test_heads_get_the_alpha_that_they_learned() -> None:
    heads = pd.DataFrame(
        [*measured("entmax15", "merging", [[0.1]]), *measured("entmax_alpha", "merging", [[0.2, 0.3]])]
    )
    alpha = pd.DataFrame(measured("entmax_alpha", "alpha", [[1.25, 1.75]])).astype({"head": "Int64"})
    found = with_alpha(heads, alpha)
    assert found["alpha"].fillna(0).tolist() == [0, 1.25, 1.75]
    assert best(found)[["head", "alpha"]].tolist() == [1, 1.75]


def test_softmax_is_called_so_beside_the_others() -> None:
    assert [label(method) for method in ("baseline", "entmax15")] == ["softmax", "1.5-entmax"]


def test_panels_are_named_above_and_on_the_left() -> None:
    figure, grid = panels(["one", "two"], row_inches=1, around_inches=1, remark="seed 1")
    assert grid.shape == (2, 3)
    assert grid[0, 0].get_title() == "encoder self-attention"
    assert [texts(line[0]) for line in grid] == [["one"], ["two"]]
    assert figure.get_suptitle() == "seed 1"
    assert texts(panels([""], row_inches=1, around_inches=1)[1][0, 0]) == []


def test_remarks_of_the_paper_are_grey() -> None:
    axes = Figure().subplots()
    remarks(axes, "ours", "paper: 3")
    assert {text.get_text(): text.get_color() for text in axes.texts} == {"ours": "black", "paper: 3": PAPER}
    heights = {text.get_text(): text.xyann[1] for text in axes.texts}
    assert heights["ours"] > heights["paper: 3"]
    remarks(axes, "red", colours=["#ff0000"])
    assert to_hex(axes.texts[-1].get_color()) == "#ff0000"
