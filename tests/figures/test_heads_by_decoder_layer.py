from __future__ import annotations

import pandas as pd
import pytest
from pruned_runs import gated, paper, run

from headcount.figures.groups import groups
from headcount.figures.heads_by_decoder_layer import _curves, _figure
from headcount.figures.style import PAPER, paper_style

KEPT = {"decoder_self": [[1, 1, 1, 1], [1, 0, 0, 0]], "decoder_cross": [[1, 0, 0, 0], [1, 1, 1, 0]]}
"""The pruned model: attention type -> [layer, head]."""

RUNS = pd.DataFrame([run("baseline-s1", "baseline"), gated("all", 0.1, (8, 5, 4), 15.0)])


def heads(name: str, kept: dict[str, list[list[int]]]) -> pd.DataFrame:
    rows = [
        (name, kind, layer, head, value)
        for kind, layers in kept.items()
        for layer, values in enumerate(layers)
        for head, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["run", "attention", "layer", "head", "kept"])


def test_shares_of_each_layer_and_of_the_type() -> None:
    table = heads("l0-all-0.1-s1", KEPT).set_index("run")
    found = _curves(table[table["attention"] == "decoder_self"], groups(RUNS.iloc[1:]))
    assert found["layer"].tolist() == [0, 1]
    assert found["mean"].tolist() == [1, 1 / 4]
    assert found["std"].tolist() == [0, 0]
    assert found["pruned"].tolist() == [3 / 8] * 2


def test_seeds_are_joined() -> None:
    second = {"decoder_self": [[1, 1, 1, 1], [1, 1, 1, 0]]}
    table = pd.concat([heads("l0-all-0.1-s1", KEPT), heads("l0-all-0.1-s2", second)]).set_index("run")
    runs = pd.DataFrame([dict(RUNS.iloc[1]), {**RUNS.iloc[1], "run": "l0-all-0.1-s2", "seed": 2}])
    found = _curves(table[table["attention"] == "decoder_self"], groups(runs))
    assert found["mean"].tolist() == [1, 2 / 4]
    assert found["std"].tolist() == pytest.approx([0, 2**-1.5])
    assert found["pruned"].tolist() == [4 / 16] * 2


def test_two_rows_of_panels_and_the_papers_pairs_in_grey() -> None:
    with paper_style():
        figure = _figure(RUNS, heads("l0-all-0.1-s1", KEPT), paper("figure10"))
    assert len(figure.axes) == 4
    assert [axes.get_title(loc="left").partition(": ")[::2] for axes in figure.axes] == [
        ("en-de", "decoder self-attention"),
        ("en-de", "decoder cross-attention"),
        ("paper, WMT (6 layers)", "decoder self-attention"),
        ("paper, WMT (6 layers)", "decoder cross-attention"),
    ]
    for axes, last in zip(figure.axes[2:], ([6, 3, 0], [4, 3, 5]), strict=True):
        curves = [line for line in axes.lines if line.get_color() == PAPER]
        assert [curve.get_ydata()[-1] for curve in curves] == pytest.approx([heads / 16 for heads in last])
        assert [curve.get_ydata()[0] for curve in curves] == [1, 1, 1]
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[:3] == ["layer 1", "layer 2", "all layers alike"]
    assert labels[3:] == ["paper, layers 1+2", "paper, layers 3+4", "paper, layers 5+6"]


def test_without_gates_in_all_attentions_the_figure_says_so() -> None:
    with paper_style():
        figure = _figure(RUNS.iloc[:1], heads("baseline-s1", KEPT), paper("figure10"))
    assert [text.get_text() for text in figure.texts] == ["no model was pruned with gates in all attentions"]
