from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from pruned_runs import KINDS, run
from sparse_study import measured

from headcount.figures.sparsity_and_pruning import _figure, comparisons, interval, pruned, rank_correlation
from headcount.figures.style import look, paper_style

ALPHA = {"encoder": [1.0, 1.2, 1.4, 1.6], "decoder_self": [1.1, 1.3], "decoder_cross": [1.5, 1.7]}
KEPT = {"encoder": [0, 0, 1, 1], "decoder_self": [0, 1], "decoder_cross": [1, 1]}


def model(name: str, method: str, heads: tuple[int, int, int], normaliser: str, **others: Any) -> Any:
    return run(name, method, heads, parent_normaliser=normaliser, **others)


def cut(name: str, heads: tuple[int, int, int], penalty: float, normaliser: str = "entmax_alpha") -> Any:
    return model(name, "l0", heads, normaliser, scope="all", penalty=penalty, setting=f"λ={penalty:g}", bleu=19.0)


RUNS = [
    model("baseline-s1", "baseline", (4, 2, 2), "softmax"),
    model("entmax_alpha-s1", "entmax_alpha", (4, 2, 2), "entmax_alpha"),
    cut("l0-all-0.1-s1", (1, 1, 1), 0.1, "softmax"),
    cut("entmax_alpha-l0-all-0-s1", (4, 2, 2), 0.0),
    cut("entmax_alpha-l0-all-0.1-s1", (2, 1, 2), 0.1),
    cut("entmax_alpha-l0-all-1-s1", (1, 0, 0), 1.0),
]
MEASURES = pd.DataFrame([row for kind in KINDS for row in measured("entmax_alpha", "alpha", [ALPHA[kind]], kind)])


def kept(name: str, heads: dict[str, list[int]]) -> list[dict[str, Any]]:
    place = {"run": name, "corpus": "en-de", "method": "l0", "layer": 0}
    return [
        {**place, "attention": kind, "head": head, "kept": value}
        for kind, values in heads.items()
        for head, value in enumerate(values)
    ]


HEADS = pd.DataFrame(kept("entmax_alpha-l0-all-0.1-s1", KEPT))


def figure_of(runs: list[Any], heads: pd.DataFrame, measures: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(runs), heads, measures)


def test_families_are_dense_models_with_what_was_pruned_of_them() -> None:
    alone = model("entmax15-s1", "entmax15", (4, 2, 2), "entmax15")
    found = pruned(pd.DataFrame([*RUNS, alone]))
    assert {group.method for group in found} == {"baseline", "entmax_alpha", "l0"}
    assert pruned(pd.DataFrame(RUNS[:3])) == []


def test_kept_and_removed_heads_are_compared_where_nearest_to_half_are_left() -> None:
    (found,) = comparisons(pd.DataFrame(RUNS), HEADS, MEASURES)
    assert (found.normaliser, found.method, found.setting, found.measure) == ("entmax_alpha", "l0", "λ = 0.1", "alpha")
    assert {kind: value.centre for kind, value in found.kept.items()} == pytest.approx(
        {"encoder": 1.5, "decoder_self": 1.3, "decoder_cross": 1.6}
    )
    assert {kind: value.centre for kind, value in found.removed.items()} == pytest.approx(
        {"encoder": 1.1, "decoder_self": 1.1}
    )
    half = 1.96 * math.sqrt(0.02) / math.sqrt(2)
    assert found.kept["encoder"].error == pytest.approx((half, half))


def test_values_come_from_the_dense_model_of_the_same_seed() -> None:
    second = [
        model("entmax_alpha-s2", "entmax_alpha", (4, 2, 2), "entmax_alpha", seed=2),
        {**cut("entmax_alpha-l0-all-0.1-s2", (2, 1, 2), 0.1), "seed": 2},
    ]
    other = MEASURES.assign(run="entmax_alpha-s2", value=MEASURES["value"] + 0.2)
    heads = pd.concat([HEADS, HEADS.assign(run="entmax_alpha-l0-all-0.1-s2")])
    (found,) = comparisons(pd.DataFrame([*RUNS, *second]), heads, pd.concat([MEASURES, other]))
    assert found.kept["encoder"].centre == pytest.approx(1.6)
    assert found.kept["encoder"].seeds == 4


def test_rank_correlation_is_within_types_and_runs() -> None:
    rows = [
        {"run": name, "attention": kind, "value": level + value, "kept": value}
        for name in ("one", "two")
        for kind, level in (("encoder", 0), ("decoder_self", 5))
        for value in (0, 0, 1, 1)
    ]
    table = pd.DataFrame(rows)
    found = rank_correlation(table)
    assert found.centre == pytest.approx(1, abs=1e-5)
    assert found.low <= found.centre <= found.high
    assert rank_correlation(table.assign(value=-table["value"])).centre == pytest.approx(-1, abs=1e-5)
    between = table.assign(value=1.0, kept=(table["attention"] == "encoder").astype(int))
    assert math.isnan(rank_correlation(between).centre)
    assert interval(rank_correlation(between)) == "–"


def test_points_are_models_and_colours_their_attention() -> None:
    figure = figure_of(RUNS, HEADS, MEASURES)
    assert len(figure.axes) == 2
    curves = {
        line.get_color(): list(line.get_ydata())
        for line in figure.axes[0].lines
        if line.get_linestyle() == "-" and len(line.get_xdata()) == 3
    }
    assert curves == {look("entmax_alpha").colour: [19.0] * 3}
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["softmax", "α-entmax", "dense", "L0 gates", "heads kept", "heads removed"]


def test_without_measures_only_bleu_is_drawn() -> None:
    assert len(figure_of(RUNS, HEADS, MEASURES.iloc[:0]).axes) == 1
    figure = figure_of(RUNS[:3], HEADS, MEASURES)
    assert [text.get_text() for text in figure.texts] == ["no model with sparse attention was pruned"]
