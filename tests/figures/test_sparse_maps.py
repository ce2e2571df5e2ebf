from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sparse_study import RUNS, measured, texts

from headcount.figures.sparse_maps import TITLES, _figure
from headcount.figures.style import paper_style

START = "\N{LOWER ONE EIGHTH BLOCK}"
SENTENCES = {
    3: [f"{START}who", f"{START}go", "es", "?"],
    8: [f"{START}a", f"{START}longer", f"{START}one", ".", "</s>"],
}
METHODS = ("baseline", "entmax15", "entmax_alpha")


def maps(sentences: dict[int, list[str]] = SENTENCES) -> pd.DataFrame:
    """Return maps of two heads, each of which looks at itself alone, head 1 in sentence 3 at all pieces alike."""
    rows = []
    for method, attention, head in product(METHODS, ("encoder", "decoder_cross"), range(2)):
        for sentence, pieces in sentences.items():
            length = len(pieces)
            weights = np.full((length, length), 1 / length) if (head, sentence) == (1, 3) else np.eye(length)
            place = (f"{method}-s1", "en-de", attention, 0, head, sentence)
            cells = product(range(length), range(length))
            rows += [(*place, query, key, pieces[query], pieces[key], weights[query, key]) for query, key in cells]
    names = "run corpus attention layer head sentence query key query_token key_token weight"
    return pd.DataFrame(rows, columns=names.split())


MEASURES = pd.DataFrame(
    [
        row
        for method in METHODS
        for row in (
            *measured(method, "confidence", [[0.3, 0.6]], "decoder_cross"),
            *measured(method, "confidence", [[0.9, 0.1]]),
        )
    ]
    + measured("entmax_alpha", "alpha", [[1.9, 1.3]])
    + measured("entmax_alpha", "diversity", [[0.5]], head=None)
)
LINKS = pd.DataFrame(
    [row for method in METHODS for row in measured(method, "merging", [[0.8, 0.2]])]
    + [row for method in METHODS for row in measured(method, "interrogation", [[0.1, 0.7]])]
    + measured("entmax_alpha", "density_sd", [[0.1, 0.4]])
)


def figure_of(
    runs: list[object], table: pd.DataFrame, measures: pd.DataFrame = MEASURES, links: pd.DataFrame = LINKS
) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), table, measures, links)


def panels(figure: Figure) -> list[list[str]]:
    return [texts(axes) for axes in figure.axes[:-1]]


def test_each_model_shows_its_best_head() -> None:
    found = panels(figure_of(RUNS, maps()))
    assert len(found) == 3 * 3 + 2
    assert found[0] == ["softmax: layer 1, head 1", "score 80%", TITLES[0]]
    assert found[2] == ["α-entmax: layer 1, head 1", "α = 1.90, score 80%"]
    assert found[4] == ["1.5-entmax: layer 1, head 2", "mean weight 70%"]
    assert found[6] == ["softmax: layer 1, head 2", "confidence 60%", TITLES[2]]


def test_words_in_pieces_questions_and_length_choose_the_sentence() -> None:
    figure = figure_of(RUNS, maps())
    first = [axes.get_yticklabels()[0].get_text() for axes in figure.axes[:-1]]
    assert first[:3] == ["who"] * 3
    assert first[3:6] == ["who"] * 3
    assert first[6:9] == ["a"] * 3


def test_the_varying_head_comes_from_dense_to_sparse() -> None:
    found = panels(figure_of(RUNS, maps()))
    assert found[9:] == [
        ["layer 1, head 2", "α = 1.30, density 100%", TITLES[3]],
        ["layer 1, head 2", "α = 1.30, density 20%"],
    ]


def test_rows_need_their_sentences_and_measures() -> None:
    plain = maps({8: SENTENCES[8]})
    titles = [title for found in panels(figure_of(RUNS, plain)) for title in found if title in TITLES]
    assert titles == [TITLES[2], TITLES[3]]
    nothing = figure_of(RUNS, plain, MEASURES.iloc[:0], LINKS.iloc[:0])
    assert [text.get_text() for text in nothing.texts] == ["no map of a sparse attention was kept"]


def test_without_sparse_maps_the_figure_says_so() -> None:
    for runs, table in ((RUNS[:1], maps()), (RUNS, maps().iloc[:0])):
        figure = figure_of(runs, table)
        assert [text.get_text() for text in figure.texts] == ["no map of a sparse attention was kept"]
