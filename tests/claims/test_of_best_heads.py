"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import METHODS, by_head, dense, lacks, verdict

from headcount.claims.of_best_heads import (
    alpha_of_best,
    best_in_order,
    best_is_clear,
    best_is_in_layer,
    more_heads_above,
)
from headcount.claims.tables import Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

MODELS = [dense(method) for method in METHODS]
MEASURE = "offset_-1"


def links(measure: str = MEASURE, **by_method: Sequence[Sequence[float]]) -> Tables:
    """Return weights of the encoder heads by layer; decoder heads always have more."""
    rows: list[dict[str, Any]] = []
    for method, layers in by_method.items():
        rows += by_head(method, measure, encoder=layers, decoder_self=[[1.0]])
    return study(MODELS, links=rows)


@pytest.mark.parametrize(("sparse", "expected"), [(0.95, YES), (0.85, NO), (0.902, OPEN)])
def test_best_in_order(sparse: float, expected: Verdict) -> None:
    asked = claim("t", measure=MEASURE, more="entmax15", less="baseline", tolerance=0.005)
    tables = links(baseline=[[0.2, 0.9], [0.1, 0.3]], entmax15=[[0.1, 0.1], [0.1, sparse]])
    assert verdict(best_in_order, tables, asked) == expected
    lacks(best_in_order, links(baseline=[[0.9]]), asked, "entmax15-s1 has no offset_-1")
    lacks(best_in_order, links("merging", baseline=[[0.9]]), asked, "baseline-s1 has no|entmax15-s1 has no")


def test_a_measure_without_a_case_is_lacking() -> None:
    asked = claim("t", measure=MEASURE, more="entmax15", less="baseline", tolerance=0.005)
    lacks(best_in_order, links(baseline=[[0.9]], entmax15=[[float("nan")]]), asked, "nothing to measure offset_-1 on")


@pytest.mark.parametrize(("softmax", "expected"), [(0.95, YES), (0.8, NO), (0.905, OPEN)])
def test_best_is_clear_in_the_weakest_model(softmax: float, expected: Verdict) -> None:
    asked = claim("t", measure=MEASURE, weight=0.9, methods=["baseline", "entmax15"], tolerance=0.01)
    tables = links(baseline=[[0.1, softmax]], entmax15=[[0.99, 0.2]])
    assert verdict(best_is_clear, tables, asked) == expected


@pytest.mark.parametrize(("sparse", "surplus", "expected"), [(0.8, 1, YES), (0.79, 1, NO), (0.79, 0, YES)])
def test_more_heads_above(sparse: float, surplus: int, expected: Verdict) -> None:
    asked = claim("t", measure=MEASURE, weight=0.8, more="entmax15", less="baseline", surplus=surplus)
    tables = links(baseline=[[0.2, 0.9]], entmax15=[[0.85, sparse]])
    assert verdict(more_heads_above, tables, asked) == expected


def test_seeds_that_differ_leave_the_number_of_heads_open() -> None:
    asked = claim("t", measure=MEASURE, weight=0.8, more="entmax15", less="baseline", surplus=1)
    tables = links(baseline=[[0.2, 0.9]], entmax15=[[0.85, 0.95]])
    second = tables["links"].replace({"run": {f"{method}-s1": f"{method}-s2" for method in METHODS}})
    second.loc[second["method"] == "entmax15", "value"] = 0.1
    rows = [*tables["links"].to_dict("records"), *second.to_dict("records")]
    both = study([*MODELS, *(dense(method, seed=2) for method in METHODS)], links=rows)
    outcome = more_heads_above(both, asked)
    assert (outcome.ours, outcome.low, outcome.high, outcome.verdict) == (0, -1, 1, OPEN)


@pytest.mark.parametrize(("layers", "expected"), [([[0.1, 0.9], [0.2, 0.2]], YES), ([[0.1, 0.2], [0.2, 0.9]], NO)])
def test_best_is_in_layer(layers: list[list[float]], expected: Verdict) -> None:
    asked = claim("t", measure=MEASURE, methods=["entmax15", "entmax_alpha"], layer=1)
    tables = links(entmax15=[[0.9], [0.2]], entmax_alpha=layers)
    outcome = best_is_in_layer(tables, asked)
    assert outcome.verdict == expected
    assert outcome.note.startswith(f"layers: 1, {1 if expected == YES else 2}")


@pytest.mark.parametrize(
    ("alpha", "side", "expected"),
    [
        (1.9, "at least", YES),
        (1.2, "at least", NO),
        (1.51, "at least", OPEN),
        (1.2, "at most", YES),
        (1.9, "at most", NO),
        (1.49, "at most", OPEN),
    ],
)
def test_alpha_of_best(alpha: float, side: str, expected: Verdict) -> None:
    asked = claim("t", measure=MEASURE, side=side, alpha=1.5, tolerance=0.02)
    weights = links(entmax_alpha=[[0.2, 0.3], [0.9, 0.1]])
    learned = by_head("entmax_alpha", "alpha", encoder=[[1.01, 1.01], [alpha, 1.99]], decoder_self=[[1.0]])
    assert (
        verdict(alpha_of_best, study(MODELS, observations=learned, links=weights["links"].to_dict("records")), asked)
        == expected
    )
    lacks(alpha_of_best, weights, asked, "no rows in observations")
