"""Rows of the tables of sparse models, made by hand; `hand_tables` has those that every study shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hand_tables import run

from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Test, Verdict
from headcount.heads import ATTENTION_TYPES

METHODS = ("baseline", "entmax15", "entmax_alpha")

Layers = Sequence[Sequence[float]]
"""A number for each layer and head."""


def dense(method: str, **values: Any) -> dict[str, Any]:
    """Return the row of a dense model."""
    return run(method, **{"parent_normaliser": "softmax" if method == "baseline" else method, **values})


def by_head(method: str, measure: str, *, seed: int = 1, **of_type: Layers) -> list[dict[str, Any]]:
    """Return rows of `observations.csv` or `links.csv`: attention=numbers by layer and head."""
    return [
        {**_head(method, seed, attention, layer, head), "measure": measure, "value": value}
        for attention, layers in of_type.items()
        for layer, values in enumerate(layers)
        for head, value in enumerate(values)
    ]


def by_layer(method: str, **of_type: Sequence[float]) -> list[dict[str, Any]]:
    """Return rows of `observations.csv` that speak of layers: the diversity of their heads."""
    return [
        {**_head(method, 1, attention, layer, None), "measure": "diversity", "value": value}
        for attention, values in of_type.items()
        for layer, value in enumerate(values)
    ]


def cells(method: str, **of_type: Mapping[float, Sequence[int]]) -> list[dict[str, Any]]:
    """Return rows of `density.csv`: attention={upper end of a bin of width 1/15: sentences of each head}."""
    return [
        {**_head(method, 1, attention, 0, head), "low": round(high - 1 / 15, 9), "high": high, "sentences": sentences}
        for attention, bins in of_type.items()
        for high, counts in bins.items()
        for head, sentences in enumerate(counts)
    ]


def paths(*trajectories: Sequence[float], every: int = 10) -> list[dict[str, Any]]:
    """Return rows of `alpha.csv`: one head a trajectory, a number every so many updates."""
    return [
        {**_head("entmax_alpha", 1, "encoder", 0, head), "update": every * step, "alpha": alpha}
        for head, path in enumerate(trajectories)
        for step, alpha in enumerate(path, start=1)
    ]


def everywhere(layers: Any) -> dict[str, Any]:
    """Give every attention type the same numbers."""
    return dict.fromkeys(ATTENTION_TYPES, layers)


def verdict(test: Test, tables: Tables, claim: Claim) -> Verdict:
    return test(tables, claim).verdict


def lacks(test: Test, tables: Tables, claim: Claim, match: str) -> None:
    with pytest.raises(Lacking, match=match):
        test(tables, claim)


def _head(method: str, seed: int, attention: str, layer: int, head: int | None) -> dict[str, Any]:
    place = {"attention": attention, "layer": layer, "head": head}
    return {"run": f"{method}-s{seed}", "corpus": "en-de", "method": method, **place}
