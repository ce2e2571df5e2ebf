"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hand_tables import HEADS, LAYERS, claim, kept, run, study
from sparse_tables import by_head, dense, everywhere, lacks, verdict

from headcount.claims.of_sparse_pruning import as_prunable_by_l0, as_prunable_by_lottery, predicts_survival
from headcount.claims.tables import Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE
SURE = 1e-6
"""A p-value with which the interval is as narrow as it gets."""

Pruned = dict[int, float]
"""Encoder heads that are kept, of 8, to BLEU; the 16 heads of the decoder stay."""


def child(name: str, normaliser: str, encoder_heads: int, bleu: float, **values: Any) -> dict[str, Any]:
    """Return the row of a model pruned from one with some normaliser."""
    begin = "" if normaliser == "softmax" else f"{normaliser}-"
    place = {"run": f"{begin}{name}-s{values.get('seed', 1)}", "parent_normaliser": normaliser}
    return run(name, heads={"encoder": encoder_heads}, bleu=bleu, **{"p_value": SURE, **place, **values})


def gated(normaliser: str, control: float, pruned: Pruned, **values: Any) -> list[dict[str, Any]]:
    rows = [dense("baseline" if normaliser == "softmax" else normaliser, **values)]
    rows.append(child("l0-all-0", normaliser, 8, control, **values))
    return rows + [
        child(f"l0-all-{1 / (1 + heads):.3f}", normaliser, heads, bleu, **values) for heads, bleu in pruned.items()
    ]


def tickets(normaliser: str, full: float, pruned: Pruned, **values: Any) -> list[dict[str, Any]]:
    rows = [dense("baseline" if normaliser == "softmax" else normaliser, bleu=full, **values)]
    return rows + [child(f"ticket-{heads}", normaliser, heads, bleu, **values) for heads, bleu in pruned.items()]


L0 = claim("t", normaliser="entmax15", scope="all", points=0.5, apart=0.1)
LOTTERY = claim("t", normaliser="entmax15", points=0.5)


@pytest.mark.parametrize(("bleu", "p_value", "expected"), [(31.0, SURE, YES), (26.0, SURE, NO), (29.5, 0.5, OPEN)])
def test_as_prunable_by_l0(bleu: float, p_value: float, expected: Verdict) -> None:
    softmax = gated("softmax", 30.0, {4: 28.0, 0: 20.0})
    sparse = gated("entmax15", 31.0, {4: bleu}, p_value=p_value)
    assert verdict(as_prunable_by_l0, study(softmax + sparse), L0) == expected


def test_losses_are_compared_at_equal_heads_along_a_line() -> None:
    softmax = gated("softmax", 30.0, {6: 29.0, 4: 28.0, 2: 20.0})
    for heads, loss in ((5, 1.5), (4, 2.0), (3, 6.0), (2, 10.0)):
        outcome = as_prunable_by_l0(study(softmax + gated("entmax15", 31.0, {heads: 28.0})), L0)
        assert outcome.ours == pytest.approx(3.0 - loss)


def test_still_fewer_heads_lose_at_least_as_much() -> None:
    tables = study(gated("softmax", 30.0, {4: 28.0}) + gated("entmax15", 31.0, {3: 28.0}))
    assert as_prunable_by_l0(tables, L0).ours == pytest.approx(3.0 - 2.0)


def test_what_softmax_has_no_models_for_is_left_out() -> None:
    softmax = gated("softmax", 30.0, {4: 28.0})
    both = as_prunable_by_l0(study(softmax + gated("entmax15", 31.0, {4: 29.0, 1: 0.0})), L0)
    assert both.ours == pytest.approx(0.0)
    lacks(as_prunable_by_l0, study(softmax + gated("entmax15", 31.0, {1: 29.0})), L0, "about as many heads")
    lacks(as_prunable_by_l0, study(softmax + gated("entmax15", 31.0, {6: 29.0})), L0, "pruned in part")
    lacks(as_prunable_by_l0, study(softmax), L0, "no models of entmax15")
    other_seed = study(softmax + gated("entmax15", 31.0, {4: 29.0}, seed=2))
    lacks(as_prunable_by_l0, other_seed, L0, "about as many heads")


@pytest.mark.parametrize(("bleu", "p_value", "expected"), [(30.0, SURE, YES), (26.0, SURE, NO), (29.0, 0.5, OPEN)])
def test_as_prunable_by_lottery(bleu: float, p_value: float, expected: Verdict) -> None:
    softmax, sparse = tickets("softmax", 30.0, {2: 28.0}), tickets("entmax15", 31.0, {2: bleu}, p_value=p_value)
    assert verdict(as_prunable_by_lottery, study(softmax + sparse), LOTTERY) == expected
    unlike = study(softmax + tickets("entmax15", 31.0, {3: bleu}))
    lacks(as_prunable_by_lottery, unlike, LOTTERY, "with as many heads")
    lacks(as_prunable_by_lottery, study(softmax), LOTTERY, "no dense models entmax15, baseline")


def test_tickets_are_compared_with_their_own_dense_model() -> None:
    rows = tickets("softmax", 30.0, {2: 28.0, 4: 29.0}) + tickets("entmax15", 31.0, {2: 28.5, 4: 30.5})
    assert as_prunable_by_lottery(study(rows), LOTTERY).ours == pytest.approx((0.5 - 0.5) / 2)


def test_tickets_of_other_lotteries_are_left_out() -> None:
    rows = tickets("softmax", 30.0, {2: 28.0}) + tickets("entmax15", 31.0, {2: 29.0})
    others = [
        {**row, "run": f"michel-{row['run']}", "variant": "michel", "bleu": 0.0}
        for row in rows
        if "ticket" in row["run"]
    ]
    main = [{**row, "variant": ""} for row in rows]
    assert as_prunable_by_lottery(study([*others, *main]), LOTTERY).ours == pytest.approx(0.0)


RISING = [[head + HEADS * layer for head in range(HEADS)] for layer in range(LAYERS)]
"""The larger, the higher the layer."""


def survivors(gone: Iterable[tuple[int, int]], *, measure: Any = RISING, seed: int = 1) -> dict[str, Any]:
    """Return runs, heads and measures of a dense model and an L0 model without some heads, as (layer, head)."""
    full = dense("entmax_alpha", seed=seed)
    pruned = child("l0-all-0.1", "entmax_alpha", 8, 30.0, seed=seed)
    removed = [(attention, *place) for attention in everywhere(None) for place in gone]
    return {
        "runs": [full, pruned],
        "heads": kept(full, ()) + kept(pruned, removed),
        "observations": by_head("entmax_alpha", "alpha", seed=seed, **everywhere(measure)),
    }


def tables(*parts: dict[str, Any]) -> Tables:
    joined = {name: [row for part in parts for row in part[name]] for name in parts[0]}
    return study(joined.pop("runs"), **joined)


SURVIVAL = {"normaliser": "entmax_alpha", "method": "l0", "measure": "alpha"}
LOWER, UPPER, MIXED = ([(layer, head) for layer in layers for head in (0, 1)] for layers in ((0, 1), (2, 3), (0, 3)))


@pytest.mark.parametrize(("gone", "expected"), [(LOWER, YES), (UPPER, NO), (MIXED, OPEN)])
def test_predicts_survival(gone: list[tuple[int, int]], expected: Verdict) -> None:
    assert verdict(predicts_survival, tables(survivors(gone)), claim("t", **SURVIVAL, kept="larger")) == expected
    turned = {YES: NO, NO: YES, OPEN: OPEN}[expected]
    assert verdict(predicts_survival, tables(survivors(gone)), claim("t", **SURVIVAL, kept="smaller")) == turned


def test_chance_is_one_half_also_with_ties() -> None:
    asked = claim("t", **SURVIVAL, kept="larger")
    alike = tables(survivors(LOWER, measure=[[1.0] * HEADS] * LAYERS))
    assert predicts_survival(alike, asked).ours == 0.5
    assert predicts_survival(tables(survivors(LOWER)), asked).ours == 1.0


def test_heads_of_different_attention_types_are_not_compared() -> None:
    """Were they, the encoder's heads, which have the lowest measure and all survive, would turn the verdict."""
    part = survivors(LOWER)
    for row in part["observations"]:
        row["value"] -= 100 if row["attention"] == "encoder" else 0
    for row in part["heads"]:
        row["kept"] = 1 if row["attention"] == "encoder" else row["kept"]
    assert predicts_survival(tables(part), claim("t", **SURVIVAL, kept="larger")).ours == 1.0


def test_both_seeds_count_and_need_each_a_pruned_model() -> None:
    asked = claim("t", **SURVIVAL, kept="larger")
    outcome = predicts_survival(tables(survivors(LOWER), survivors(UPPER, seed=2)), asked)
    assert (outcome.ours, outcome.seeds, outcome.verdict) == (0.5, 2, OPEN)
    lacks(predicts_survival, tables(survivors(())), asked, "pruned in part")
