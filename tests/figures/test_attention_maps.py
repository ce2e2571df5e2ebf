from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from pruned_runs import run

from headcount.figures.attention_maps import ROWS, _examples, _figure, _rows
from headcount.figures.maps import COLOURS, LEVELS
from headcount.figures.style import paper_style

ROLES = [
    ("positional", "-1", "gold", 0, 0, 0.7, None),
    ("positional", "+1", "gold", 1, 1, 0.9, None),
    ("positional", "+1", "shuffled", 0, 1, 1.0, None),
    ("syntactic", "amod:to_head", "gold", 0, 0, 0.75, 0.72),
    ("syntactic", "dobj:to_dependent", "gold", 0, 1, 0.6, 0.41),
    ("rare", "rare-1", "gold", 1, 1, 0.95, None),
    ("rare", "rare-2", "gold", 1, 0, 0.8, None),
]
"""Kind, role, labels, layer, head, value, baseline."""

WEIGHTS = np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25], [0.2, 0.3, 0.5]])
"""Attention [query, key] of every head in `maps`."""


def roles(name: str = "baseline-s1") -> pd.DataFrame:
    columns = ["kind", "role", "labels", "layer", "head", "value", "baseline"]
    return pd.DataFrame(ROLES, columns=columns).astype({"baseline": float}).assign(run=name, attention="encoder")


def maps(
    name: str = "baseline-s1",
    corpus: str = "en-de",
    sentences: Sequence[int] = (0,),
    weights: npt.NDArray[np.float64] = WEIGHTS,
) -> pd.DataFrame:
    pieces = ["\N{LOWER ONE EIGHTH BLOCK}walk", "ing", "."]
    rows = [
        (name, corpus, "encoder", layer, head, sentence, query, key, pieces[query], pieces[key], weights[query, key])
        for layer, head, sentence, query, key in product(range(2), range(2), sentences, range(3), range(3))
    ]
    names = "run corpus attention layer head sentence query key query_token key_token weight"
    return pd.DataFrame(rows, columns=names.split())


def figure_of(runs: list[object], *tables: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), *tables)


def test_the_clearest_head_of_each_kind_is_shown() -> None:
    found = _examples(roles()[roles()["labels"] == "gold"])
    assert {kind: (example.layer, example.head) for kind, example in found.items()} == {
        "rare": (1, 0),
        "positional": (1, 1),
        "syntactic": (0, 1),
    }
    assert found["syntactic"].remark == "verb → object: 60% (fixed offset: 41%)"
    assert found["positional"].remark == "maxima at offset +1: 90%"


def test_a_kind_that_was_not_measured_has_no_column() -> None:
    table = roles()
    figure = figure_of([run("baseline-s1", "baseline")], table[table["kind"] != "syntactic"], maps())
    assert len(figure.axes) == 2 + 1


def test_a_row_without_the_first_column_is_named_and_labelled_all_the_same() -> None:
    other = roles("x-baseline-s1").query("kind != 'rare'")
    tables = (pd.concat([roles(), other]), pd.concat([maps(), maps("x-baseline-s1", "x")]))
    runs = [run("baseline-s1", method="baseline"), {**run("x-baseline-s1", method="baseline"), "corpus": "x"}]
    figure = figure_of(runs, *tables)
    below = figure.axes[3:6]
    assert not below[0].axison
    assert [text.get_text() for text in below[0].texts] == ["x"]
    assert [label.get_text() for label in below[1].get_yticklabels()] == ["walk", "-ing", "."]
    assert not any(label.get_text() for label in below[2].get_yticklabels())


def test_weights_of_exactly_0_are_white_and_others_never() -> None:
    figure = figure_of([run("baseline-s1", "entmax15")], roles(), maps())
    patches = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    white = [patch for patch in patches if patch.get_facecolor() == (1, 1, 1, 1)]
    assert [len(patch.get_path().vertices) for patch in white] == [2 * 5]
    assert not any(COLOURS(level)[:3] == (1, 1, 1) for level in range(LEVELS + 1))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["exactly 0"]
    softmax = figure_of([run("baseline-s1", "baseline")], roles(), maps())
    assert not softmax.legends
    assert not any(patch.get_facecolor() == (1, 1, 1, 1) for patch in softmax.axes[0].patches)


def test_sentences_come_by_what_the_rare_head_shows() -> None:
    scattered = maps(sentences=[0], weights=np.full((3, 3), 1 / 3))
    gathered = maps(sentences=[7], weights=np.array([[0.0, 0.5, 0.5]] * 3))
    found = _rows(pd.DataFrame([run("baseline-s1", "baseline")]), roles(), pd.concat([scattered, gathered]))
    assert [row.maps["sentence"].iloc[0] for row in found] == [7, 0]


def test_corpora_share_the_rows() -> None:
    names = {"en-de": "baseline-s1", "en-fr": "en-fr-baseline-s1"}
    runs = [run(name, "baseline", corpus=corpus) for corpus, name in names.items()]
    sentences = range(ROWS + 1)
    many = [
        pd.concat([roles(name) for name in names.values()], ignore_index=True),
        pd.concat([maps(name, corpus, sentences) for corpus, name in names.items()], ignore_index=True),
    ]
    shared = _rows(pd.DataFrame(runs), *many)
    assert [row.corpus for row in shared] == ["en-de", "en-fr"]
    alone = _rows(pd.DataFrame(runs[:1]), roles(), maps(sentences=sentences))
    assert [(row.corpus, row.maps["sentence"].unique().tolist()) for row in alone] == [("", [n]) for n in range(ROWS)]


@pytest.mark.parametrize("absent", ["roles", "maps"])
def test_without_roles_or_maps_the_figure_says_so(absent: str) -> None:
    tables = {"roles": roles(), "maps": maps()}
    tables[absent] = tables[absent].iloc[:0]
    figure = figure_of([run("baseline-s1", "baseline")], *tables.values())
    assert [text.get_text() for text in figure.texts] == ["no attention map was kept"]
