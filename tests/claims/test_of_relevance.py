"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hand_tables import HEADS, LAYERS, claim, role, run, study

from headcount.claims import of_relevance
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

LRP = "lrp_epsilon"


def verdict(name: str, tables: Tables, **settings: Any) -> Verdict:
    return getattr(of_relevance, name)(tables, claim(name, **settings)).verdict


def lacks(name: str, tables: Tables, match: str, **settings: Any) -> None:
    with pytest.raises(Lacking, match=match):
        getattr(of_relevance, name)(tables, claim(name, **settings))


def by_head(values: Iterable[float], measure: str) -> list[dict[str, Any]]:
    """Return rows of a measure of the baseline's encoder heads, layer by layer."""
    places = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    return [
        {
            **{"run": "baseline-s1", "corpus": "en-de", "attention": "encoder", "layer": layer, "head": head},
            **{"measure": measure, "value": value, "low": value - 0.02, "high": value + 0.02},
        }
        for (layer, head), value in zip(places, values, strict=True)
    ]


def dense(
    *roles: dict[str, Any], confidence: Iterable[float] = (0.5,) * 8, relevance: Iterable[float] = (0.5,) * 8
) -> Tables:
    return study(
        [run("baseline")],
        roles=roles,
        observations=by_head(confidence, "confidence"),
        relevance=by_head(relevance, LRP),
    )


@pytest.mark.parametrize(("spearman", "heads", "expected"), [(0.6, 24, YES), (-0.6, 24, NO), (0.2, 24, OPEN)])
@pytest.mark.parametrize("names", [(LRP, "confidence"), ("confidence", LRP)])
def test_measures_agree(names: tuple[str, str], spearman: float, heads: int, expected: Verdict) -> None:
    row = {"run": "baseline-s1", "corpus": "en-de", "attention": "encoder", "layer": "all"}
    row |= {"measure_a": names[0], "measure_b": names[1], "spearman": spearman, "heads": heads}
    other = [row | {"layer": "0", "spearman": 0.9}, row | {"attention": "decoder_self", "spearman": 0.9}]
    settings = {"measures": ["confidence", LRP]}
    assert verdict("measures_agree", study([run("baseline")], agreement=[*other, row]), **settings) == expected
    lacks("measures_agree", study([run("baseline")], agreement=other), "no rank correlation", **settings)


@pytest.mark.parametrize(("top", "expected"), [(0.7, YES), (0.52, NO), (0.58, OPEN)])
def test_few_dominate(top: float, expected: Verdict) -> None:
    tables = dense(relevance=[0.9, 0.1, 0.8, 0.2, 0.7, 0.3, top, 1 - top])
    assert verdict("few_dominate", tables, measure=LRP, times=1.16) == expected
    lacks("few_dominate", tables, "no lrp_alpha_beta of a dense model", measure="lrp_alpha_beta", times=1.16)


RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.85, 0.9]
"""Confidence by layer and head: the most confident heads are in the last layer."""


@pytest.mark.parametrize(("places", "expected"), [([(3, 0), (3, 1)], YES), ([(0, 0)], NO), ([(2, 1)], OPEN)])
def test_kind_is_confident(places: list[tuple[int, int]], expected: Verdict) -> None:
    settings = {"kind": "positional", "rank": 0.75, "tolerance": 0.05}
    tables = dense(*(role("-1", *place) for place in places), confidence=RISING)
    assert verdict("kind_is_confident", tables, **settings) == expected
    lacks("kind_is_confident", dense(role("rare-2", 0, 0)), "no positional heads", **settings)


@pytest.mark.parametrize(("place", "expected"), [((3, 1), YES), ((0, 0), NO), ((3, 0), OPEN)])
def test_confidence_of_kind(place: tuple[int, int], expected: Verdict) -> None:
    settings = {"kind": "positional", "confidence": 0.83, "tolerance": 0.05}
    assert verdict("confidence_of_kind", dense(role("-1", *place), confidence=RISING), **settings) == expected


SETTINGS = {"kind": "rare", "layer": 1, "measure": LRP}
FIRST_TOPS, SECOND_TOPS = ([top, 1 - top, *[0.5] * 6] for top in (0.8, 0.2))


@pytest.mark.parametrize(("relevance", "expected"), [(FIRST_TOPS, YES), (SECOND_TOPS, NO)])
def test_kind_tops_its_layer(relevance: list[float], expected: Verdict) -> None:
    assert verdict("kind_tops_its_layer", dense(role("rare-2", 0, 0), relevance=relevance), **SETTINGS) == expected
    lacks("kind_tops_its_layer", dense(role("rare-2", 1, 0)), "no rare head in layer 1", **SETTINGS)


@pytest.mark.parametrize(("confidence", "expected"), [(SECOND_TOPS, YES), (FIRST_TOPS, NO)])
def test_kind_is_an_exception(confidence: list[float], expected: Verdict) -> None:
    tables = dense(role("rare-2", 0, 0), relevance=FIRST_TOPS, confidence=confidence)
    assert verdict("kind_is_an_exception", tables, **SETTINGS) == expected
    lacks("kind_is_an_exception", dense(role("-1", 0, 0)), "no rare head in layer 1", **SETTINGS)


def test_without_observations_confidence_is_lacking() -> None:
    tables = dense(role("rare-2", 0, 0))
    frames = {**tables.frames, "observations": tables["observations"].assign(measure="entropy")}
    lacks("kind_is_an_exception", Tables(frames), "no confidence in observations.csv", **SETTINGS)


def test_seeds_that_disagree_leave_the_claim_open() -> None:
    first = dense(role("rare-2", 0, 0), relevance=FIRST_TOPS)
    second = dense(role("rare-2", 0, 0), relevance=SECOND_TOPS)
    rows = {
        name: [*first[name].to_dict("records"), *second[name].assign(run="baseline-s2").to_dict("records")]
        for name in ("roles", "relevance", "observations", "heads")
    }
    tables = study([run("baseline"), run("baseline", seed=2)], **rows)
    assert verdict("kind_tops_its_layer", tables, **SETTINGS) == OPEN
