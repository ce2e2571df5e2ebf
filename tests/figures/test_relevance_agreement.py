from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from pruned_runs import run

from headcount.figures.relevance_agreement import PARTNERS, _figure, _heads
from headcount.figures.style import paper_style

RUNS = [run("baseline-s1", "baseline"), run("baseline-s2", "baseline", seed=2)]
SHARES = {(0, 0): 0.7, (0, 1): 0.3, (1, 0): 0.55, (1, 1): 0.45}
NAMED = [(0, 0, "rare", "rare-2"), (1, 0, "positional", "-1"), (1, 0, "syntactic", "dobj:to_head")]


def rows(name: str, measures: dict[str, float]) -> list[dict[str, Any]]:
    place = {"run": name, "corpus": "en-de", "attention": "encoder"}
    return [
        {**place, "method": "baseline", "layer": layer, "head": head, "measure": measure, "value": share * factor}
        for (layer, head), share in SHARES.items()
        for measure, factor in measures.items()
    ]


def tables() -> list[pd.DataFrame]:
    relevance = pd.DataFrame(
        [row for seed in (1, 2) for row in rows(f"baseline-s{seed}", {"lrp_epsilon": 1, "leave_one_out": 9})]
    )
    relevance = relevance.assign(low=relevance["value"] - 0.1, high=relevance["value"] + 0.2)
    observations = pd.DataFrame(rows("baseline-s1", {"confidence": 0.5, "entropy": 3}))
    roles = pd.DataFrame(NAMED, columns=["layer", "head", "kind", "role"]).assign(labels="gold", named=1)
    rejected = pd.DataFrame([{"layer": 1, "head": 1, "kind": "rare", "role": "rare-2", "labels": "gold", "named": 0}])
    shuffled = roles.iloc[:1].assign(head=1, labels="shuffled")
    roles = pd.concat([roles, rejected, shuffled]).assign(run="baseline-s1", corpus="en-de", attention="encoder")
    pairs = [("leave_one_out", "lrp_epsilon"), ("leave_one_out", "confidence"), ("lrp_epsilon", "confidence")]
    agreement = pd.DataFrame(
        [
            {"run": f"baseline-s{seed}", "corpus": "en-de", "attention": "encoder", "layer": layer}
            | {"measure_a": a, "measure_b": b, "spearman": value + 0.2 * seed}
            for seed in (1, 2)
            for layer, value in (("all", 0.2), ("0", -0.5), ("1", 0.4))
            for a, b in pairs
        ]
    )
    return [relevance, observations, roles, agreement]


def figure_of(*parts: pd.DataFrame) -> Figure:
    with paper_style():
        return _figure(pd.DataFrame(RUNS), *parts)


def test_heads_have_their_share_confidence_and_kind() -> None:
    relevance, observations, roles, _ = tables()
    heads = _heads(relevance[relevance["run"] == "baseline-s1"], observations, roles)
    assert heads["value"].to_dict() == SHARES
    assert heads["confidence"].to_dict() == pytest.approx({place: share / 2 for place, share in SHARES.items()})
    assert heads["kind"].tolist() == ["rare", "unnamed", "several", "unnamed"]
    assert heads["roles"].tolist() == ["rare", "", "\N{MINUS SIGN}1, o→v", ""]


def test_bars_are_the_means_over_the_seeds() -> None:
    figure = figure_of(*tables())
    assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["LRP, ε rule", "loss without the head"]
    bars = [patch for patch in figure.axes[1].patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx([0.5] * 3)
    (_, _, above), (_, _, below) = PARTNERS.values()
    assert [bar.get_y() + bar.get_height() / 2 for bar in bars] == pytest.approx([1 + above, below, 1 + below])
    low, high = figure.axes[1].get_xlim()
    assert low < -0.2
    assert high == 1


def test_every_kind_has_a_name_in_the_legend() -> None:
    legend = figure_of(*tables()).axes[0].get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["even share", "rare tokens", "of several kinds", "unnamed"]


def test_roles_may_be_missing() -> None:
    relevance, observations, roles, agreement = tables()
    legend = figure_of(relevance, observations, roles.iloc[:0], agreement).axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["even share", "unnamed"]


def test_without_relevance_the_figure_says_so() -> None:
    figure = figure_of(*(table.iloc[:0] for table in tables()))
    assert [text.get_text() for text in figure.texts] == ["no head's relevance was measured"]
