"""Dense models by their kind of attention, and what was measured of their heads, as tests of claims see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from headcount.claims.estimate import Estimate, over_seeds
from headcount.claims.tables import Lacking, Tables

SOFTMAX, ENTMAX15, LEARNED = "baseline", "entmax15", "entmax_alpha"
"""Methods of the three models of correia2019: softmax, 1.5-entmax, and one learned α a head."""

ENCODER = "encoder"

HEAD = ["attention", "layer", "head"]

Models = tuple[pd.Series, ...]
"""Rows of `runs.csv`: dense models of one corpus and seed, in the order that was asked for."""


def models(tables: Tables, methods: Sequence[str]) -> list[Models]:
    """Return the dense models of some methods, for each corpus and seed that has them all.

    Raises:
        Lacking: none has.

    """
    runs = tables["runs"]
    found = []
    for _, of_seed in runs[runs["method"].isin(methods)].groupby(["corpus", "seed"], sort=False):
        rows = [of_seed[of_seed["method"] == method] for method in methods]
        if not any(row.empty for row in rows):
            found.append(tuple(row.iloc[0] for row in rows))
    if not found:
        raise Lacking(f"no dense models {', '.join(methods)} of one seed")
    return found


def each(tables: Tables, methods: Sequence[str], number: Callable[..., Estimate]) -> Estimate:
    """Return a number of the models of each seed, combined; a seed that lacks a part is left out, unless all do.

    Args:
        tables: of one corpus.
        methods: of the models.
        number: of their rows of `runs.csv`.

    Raises:
        Lacking: no seed has what the number needs.

    """
    found, reasons = [], []
    for rows in models(tables, methods):
        try:
            found.append(number(*rows))
        except Lacking as reason:
            reasons.append(reason)
    if not found:
        raise reasons[0]
    return over_seeds(found)


def of_heads(table: pd.DataFrame, model: pd.Series, measure: str) -> pd.DataFrame:
    """Return attention, layer, head and value of a measure of a model, from `observations.csv` or `links.csv`.

    Raises:
        Lacking: it was not measured.

    """
    rows: pd.DataFrame = table.loc[(table["run"] == model["run"]) & (table["measure"] == measure), [*HEAD, "value"]]
    if rows.empty:
        raise Lacking(f"{model['run']} has no {measure}")
    return rows


def of_type(heads: pd.DataFrame, attention: str) -> pd.DataFrame:
    """Return the heads of an attention type.

    Raises:
        Lacking: there is none.

    """
    rows = heads[heads["attention"] == attention]
    if rows.empty:
        raise Lacking(f"no head of type {attention} was measured")
    return rows


def weakest(numbers: Sequence[Estimate]) -> Estimate:
    """Return the smallest of the numbers that must all be large."""
    return min(numbers, key=lambda estimate: estimate.value)
