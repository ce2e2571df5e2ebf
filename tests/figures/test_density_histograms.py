from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from pruned_runs import gated
from sparse_study import RUNS, paper, texts

from headcount.figures.density_histograms import _figure, shares
from headcount.figures.style import PAPER, paper_style

BINS = 15


def density(method: str, counts: dict[int, int], attention: str = "encoder", name: str = "") -> list[dict[str, object]]:
    """Return rows of `density.csv` for two heads with the same counts by bin."""
    place = {"run": name or f"{method}-s1", "corpus": "en-de", "method": method, "attention": attention, "layer": 0}
    return [
        {**place, "head": head, "low": n / BINS, "high": (n + 1) / BINS, "sentences": counts.get(n, 0)}
        for head in range(2)
        for n in range(BINS)
    ]


TABLE = pd.DataFrame(
    [
        *density("baseline", {14: 10}),
        *density("entmax15", {0: 4, 2: 2, 3: 3, 14: 1}),
        *density("entmax_alpha", {7: 10}),
        *density("l0", {0: 10}, name="l0-all-0.1-s1"),
    ]
)


def figure_of(runs: list[object], table: pd.DataFrame, numbers: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), table, numbers)


def test_shares_are_those_of_all_head_sentence_pairs() -> None:
    found = shares(TABLE[TABLE["method"] == "entmax15"])["share"].tolist()
    assert [found[n] for n in (0, 2, 3, 14)] == [0.4, 0.2, 0.3, 0.1]


def test_each_sparse_variant_is_a_row_and_softmax_a_remark() -> None:
    runs = [*RUNS, gated("all", 0.1, (1, 1, 1), 10.0)]
    figure = figure_of(runs, TABLE, paper("figure4"))
    assert len(figure.axes) == 6
    assert figure.get_suptitle() == "softmax: 100.0% of the pairs in the last bin"
    (step,) = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    assert step.get_data().values[3] == 0.3
    assert set(texts(figure.axes[0])) == {
        "1.5-entmax",
        "below 0.2: 60%, last bin: 10%",
        "paper, below 0.2: 51%, last bin: 2%",
    }
    (tick,) = [line for line in figure.axes[0].lines if line.get_color() == PAPER]
    assert list(tick.get_ydata()) == [0.022, 0.022]


def test_the_paper_may_be_absent() -> None:
    figure = figure_of(RUNS, TABLE, paper("figure4").iloc[:0])
    assert texts(figure.axes[0]) == ["1.5-entmax", "below 0.2: 60%, last bin: 10%"]
    assert not figure.legends


def test_without_sparse_attention_the_figure_says_so() -> None:
    figure = figure_of(RUNS[:1], TABLE, paper("figure4"))
    assert [text.get_text() for text in figure.texts] == ["no run with sparse attention was observed"]
