from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from sparse_study import RUNS, measured, paper, texts

from headcount.figures.special_heads import MEASURES, _figure
from headcount.figures.style import PAPER, paper_style
from headcount.figures.variants import printed

LINKS = pd.DataFrame(
    [
        *measured("baseline", "merging", [[0.1, 0.8], [0.2, 0.3]]),
        *measured("entmax_alpha", "merging", [[0.1, 0.2], [0.9, 0.3]]),
        *measured("entmax_alpha", "interrogation", [[0.4, 0.5], [0.6, 0.7]]),
        *measured("entmax_alpha", "merging", [[1.0, 1.0], [1.0, 1.0]], "decoder_self"),
    ]
)
ALPHA = pd.DataFrame(measured("entmax_alpha", "alpha", [[1.1, 1.2], [1.91, 1.3]]))
NUMBERS = {measure: printed(paper(item), "best head") for measure, (_, item) in MEASURES.items()}


def figure_of(runs: list[object], links: pd.DataFrame, numbers: dict[str, dict[str, float]]) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), links, ALPHA, paper=numbers)


def test_the_best_head_of_each_variant_is_described() -> None:
    left, right = figure_of(RUNS, LINKS, NUMBERS).axes
    assert set(texts(left)) == {
        "softmax: 80.0% (layer 1, head 2)",
        "α-entmax: 90.0% (layer 2, head 1, α = 1.91)",
    }
    assert texts(right) == ["α-entmax: 70.0% (layer 2, head 2, α = 1.30)"]


def test_best_heads_of_the_paper_stand_on_the_right_where_it_names_them() -> None:
    left, right = figure_of(RUNS, LINKS, NUMBERS).axes
    grey = [[line.get_ydata()[0] for line in axes.lines if line.get_color() == PAPER] for axes in (left, right)]
    assert grey == [[0.898], [0.985, 0.995]]
    assert all(line.get_xdata()[0] > 2.5 for axes in (left, right) for line in axes.lines if line.get_color() == PAPER)
    alone = figure_of(RUNS, LINKS, {measure: {} for measure in MEASURES}).axes[0]
    assert [label.get_text() for label in alone.get_xticklabels()] == ["1", "2"]


def test_a_measure_without_cases_has_no_panel() -> None:
    figure = figure_of(RUNS, LINKS[LINKS["measure"] == "merging"], NUMBERS)
    assert len(figure.axes) == 1
    empty = figure_of(RUNS[:1], LINKS, NUMBERS)
    assert [text.get_text() for text in empty.texts] == ["no head of a sparse attention was measured"]
