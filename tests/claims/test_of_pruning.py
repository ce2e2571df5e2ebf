"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hand_tables import LAYERS, claim, kept, role, run, study

from headcount.claims import of_pruning
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Verdict
from headcount.model.gates import probability_closed, probability_one

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE
SURE = 1e-6
"""A p-value with which the interval is as narrow as it gets."""


def encoder(bleus: Mapping[int, float], *, control: float = 30.0, p_value: float = SURE, **values: Any) -> Tables:
    """Return a sweep over the encoder: heads kept, of 8, to BLEU."""
    pruned = [
        run(f"l0-encoder-{1 / (1 + heads):.3f}", heads={"encoder": heads}, bleu=bleu, p_value=p_value, **values)
        for heads, bleu in bleus.items()
    ]
    return study([run("baseline"), run("l0-encoder-0", bleu=control), *pruned])


def everything(*models: tuple[int, int, int], **values: Any) -> list[dict[str, Any]]:
    """Return the dense model and L0 runs of scope all, each with its heads by attention type."""
    kinds = ("encoder", "decoder_self", "decoder_cross")
    pruned = [
        run(f"l0-all-{place}", heads=dict(zip(kinds, heads, strict=True)), **values)
        for place, heads in enumerate(models, start=1)
    ]
    return [run("baseline", **values), *pruned]


def verdict(name: str, tables: Tables, **settings: Any) -> Verdict:
    return getattr(of_pruning, name)(tables, claim(name, **settings)).verdict


def lacks(name: str, tables: Tables, match: str, **settings: Any) -> None:
    with pytest.raises(Lacking, match=match):
        getattr(of_pruning, name)(tables, claim(name, **settings))


@pytest.mark.parametrize(
    ("bleu", "p_value", "expected"), [(29.9, SURE, YES), (28.0, SURE, NO), (29.7, 0.3, OPEN), (29.0, 0.5, OPEN)]
)
def test_keeps_quality(bleu: float, p_value: float, expected: Verdict) -> None:
    tables = encoder({6: 20.0, 2: bleu}, p_value=p_value)
    settings: dict[str, Any] = {"scope": "encoder", "shares": {"encoder": 0.25}, "points": 0.5}
    assert verdict("keeps_quality", tables, **settings) == expected
    lacks("keeps_quality", encoder({6: 30.0}), "keeps so many heads: encoder 12% to 25%", **settings)
    lacks("keeps_quality", encoder({0: 30.0}), "keeps so many heads", **settings)


def test_keeps_quality_takes_the_model_with_the_most_heads_below_the_limit() -> None:
    tables = encoder({2: 29.0, 1: 30.0})
    outcome = of_pruning.keeps_quality(tables, claim("t", scope="encoder", shares={"encoder": 0.25}, points=0.5))
    assert outcome.ours == pytest.approx(1.0)


def test_keeps_quality_limits_every_attention_type() -> None:
    tables = study([*everything((2, 8, 8), (2, 4, 4), bleu=29.0), run("l0-all-0")])
    outcome = of_pruning.keeps_quality(
        tables, claim("t", scope="all", shares={"encoder": 0.3, "decoder_self": 0.5}, points=1)
    )
    assert "l0-all-2" in outcome.note


@pytest.mark.parametrize(("knee", "end", "expected"), [(29.8, 26.0, YES), (24.0, 23.9, NO), (29.8, 29.7, NO)])
def test_flat_then_knee(knee: float, end: float, expected: Verdict) -> None:
    settings = {"scope": "encoder", "share": 0.25, "fewest": 0.1, "fraction": 0.3333}
    assert verdict("flat_then_knee", encoder({2: knee, 0: end}), **settings) == expected
    lacks("flat_then_knee", encoder({2: knee}), "as few as 10%", **settings)
    lacks("flat_then_knee", encoder({6: knee, 0: end}), "between 12% and 38%", **settings)


def test_flat_then_knee_is_open_where_even_the_end_is_no_clear_loss() -> None:
    tables = encoder({2: 29.9, 0: 29.7}, p_value=0.4)
    assert verdict("flat_then_knee", tables, scope="encoder", share=0.25, fewest=0.1, fraction=0.3333) == OPEN


@pytest.mark.parametrize(
    ("bleus", "expected"),
    [
        ({5: 29.9, 4: 25.0, 0: 20.0}, YES),
        ({7: 29.0, 6: 27.9, 5: 26.5, 4: 25.9, 3: 25.5, 2: 24.5, 0: 20.0}, NO),
        ({7: 29.0, 2: 24.5, 0: 20.0}, OPEN),
    ],
)
def test_knee_is_sharp(bleus: dict[int, float], expected: Verdict) -> None:
    assert verdict("knee_is_sharp", encoder(bleus), scope="encoder", fewest=0.1, width=0.25) == expected


def test_knee_is_sharp_needs_a_clear_loss() -> None:
    lacks("knee_is_sharp", encoder({0: 30.5}), "no clear loss", scope="encoder", fewest=0.1, width=0.25)


@pytest.mark.parametrize(("bleu", "p_value", "expected"), [(20.0, SURE, YES), (28.0, SURE, NO), (24.9, 0.02, OPEN)])
def test_end_costs(bleu: float, p_value: float, expected: Verdict) -> None:
    tables = encoder({4: 29.0, 1: bleu}, p_value=p_value, bleu_low=bleu - 4, bleu_high=bleu + 4)
    assert verdict("end_costs", tables, scope="encoder", fewest=0.13, points=5) == expected


def pairs(leads: Iterable[float], control: str, *, seed: int = 1, p_value: float = SURE) -> list[dict[str, Any]]:
    rows = [run("baseline", seed=seed)]
    for heads, lead in zip((4, 3, 2, 1), leads, strict=False):
        kept_heads = {"encoder": heads}
        values = {"heads": kept_heads, "seed": seed, "p_value": p_value}
        rows.append(run(f"l0-all-{heads}", bleu=29 + lead, **values))
        rows.append(run(f"{control}-all-{heads}", bleu=29.0, **values))
    return rows


@pytest.mark.parametrize("control", ["scratch", "random"])
def test_beats_control(control: str) -> None:
    settings = {"control": control, "scope": "all", "points": 0}
    assert verdict("beats_control", study(pairs([1.0, 2.0], control)), **settings) == YES
    assert verdict("beats_control", study(pairs([-1.0, -2.0], control)), **settings) == NO
    assert verdict("beats_control", study(pairs([0.1, 0.2], control, p_value=0.5)), **settings) == OPEN
    lacks("beats_control", study(pairs([], control)), f"no pairs of L0 and {control}", **settings)


def test_from_three_seeds_on_only_their_spread_counts() -> None:
    """A test set that is too small for one seed does not hide a lead that every seed shows."""
    rows = [row for seed in (1, 2, 3) for row in pairs([1.0 + seed / 100], "scratch", seed=seed, p_value=0.5)]
    settings = {"control": "scratch", "scope": "all", "points": 0}
    assert verdict("beats_control", study(rows), **settings) == YES
    assert verdict("beats_control", study(rows[:3]), **settings) == OPEN


def test_gap_grows() -> None:
    settings = {"control": "scratch", "scope": "all"}
    assert verdict("gap_grows", study(pairs([0.1, 0.5, 2.0], "scratch")), **settings) == YES
    assert verdict("gap_grows", study(pairs([2.0, 0.1], "scratch")), **settings) == NO
    assert verdict("gap_grows", study(pairs([0.1, 0.5], "scratch", p_value=0.5)), **settings) == OPEN
    lacks("gap_grows", study(pairs([1.0], "scratch")), "fewer than two pairs", **settings)


def test_the_paired_bootstrap_of_l0_and_control_decides() -> None:
    rows = pairs([0.3, 0.9], "scratch", p_value=0.5)
    settings = {"control": "scratch", "scope": "all"}
    lead = {"scratch-all-4-s1": 0.3, "scratch-all-3-s1": 0.9}
    met = [
        {**row, "partner": row["run"].replace("scratch", "l0"), "partner_low": -at - 0.1, "partner_high": -at + 0.2}
        if (at := lead.get(row["run"]))
        else row
        for row in rows
    ]
    assert verdict("beats_control", study(rows), points=0, **settings) == OPEN
    assert verdict("beats_control", study(met), points=0, **settings) == YES
    grown = of_pruning.gap_grows(study(met), claim("t", **settings))
    assert (grown.ours, grown.low) == (pytest.approx(0.6), pytest.approx(0.6 - math.hypot(0.2, 0.1)))


@pytest.mark.parametrize(
    ("named", "unnamed", "p_value", "expected"), [(27, 29, SURE, YES), (29, 27, SURE, NO), (28.9, 29, 0.5, OPEN)]
)
def test_removal_costs_more(named: float, unnamed: float, p_value: float, expected: Verdict) -> None:
    settings = {"costly": "named", "cheap": "unnamed", "scope": "encoder"}
    rows = [run("baseline"), run("named-encoder", bleu=named, p_value=p_value)]
    tables = study([*rows, run("unnamed-encoder", bleu=unnamed, p_value=p_value)])
    assert verdict("removal_costs_more", tables, **settings) == expected
    lacks("removal_costs_more", study(rows), "of one seed", **settings)


@pytest.mark.parametrize(
    ("models", "expected"), [([(2, 5, 5), (1, 3, 6)], YES), ([(5, 2, 5)], NO), ([(4, 4, 5)], OPEN)]
)
def test_survives_longer(models: list[tuple[int, int, int]], expected: Verdict) -> None:
    settings = {"less": "encoder", "more": "decoder_self", "tolerance": 0.05}
    assert verdict("survives_longer", study(everything(*models)), **settings) == expected


def test_survives_longer_looks_at_partly_pruned_models_only() -> None:
    settings = {"less": "encoder", "more": "decoder_self", "tolerance": 0.05}
    lacks("survives_longer", study(everything((8, 8, 7), (0, 0, 1))), "pruned in part", **settings)


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [((1, 2, 5), (1, 5, 5), YES), ((1, 5, 5), (1, 2, 5), NO), ((1, 3, 5), (1, 3, 5), OPEN)],
)
def test_longer_sentences_need_self_attention(
    short: tuple[int, int, int], long: tuple[int, int, int], expected: Verdict
) -> None:
    settings = {"lengths": 1.5, "tolerance": 0.1}
    assert verdict("longer_sentences_need_self_attention", two_corpora(short, long, 24), **settings) == expected
    lacks(
        "longer_sentences_need_self_attention",
        two_corpora(short, long, 9),
        "differ in length by the factor",
        **settings,
    )


def two_corpora(short: tuple[int, int, int], long: tuple[int, int, int], pieces: int) -> Tables:
    """Return a corpus of 8 pieces a sentence and one of `pieces`, ten sentences each."""
    rows, roles, density = [], [], []
    for corpus, heads, length in (("en-de", short, 8), ("long", long, pieces)):
        name = f"{corpus}-baseline-s1"
        rows += [row | {"run": row["run"].replace("baseline-s1", name)} for row in everything(heads, corpus=corpus)]
        roles.append(role("-1", 0, 0, run=name, corpus=corpus, cases=10 * (length - 1)))
        for low in (0.0, 0.5):
            bins = {"run": name, "corpus": corpus, "attention": "encoder", "layer": 0, "head": 0}
            density.append({**bins, "low": low, "high": low + 0.5, "sentences": 5})
    return study(rows, roles=roles, density=density)


@pytest.mark.parametrize(
    ("half", "gone", "expected"),
    [
        ("lower", (2, 3), YES),
        ("lower", (0, 1), NO),
        ("upper", (0, 1), YES),
        ("upper", (2, 3), NO),
        ("lower", (0, 3), OPEN),
    ],
)
def test_kept_by_depth(half: str, gone: tuple[int, ...], expected: Verdict) -> None:
    rows = everything((2, 4, 4))
    heads = kept(rows[0], ()) + kept(rows[1], [("decoder_self", layer, head) for layer in gone for head in (0, 1)])
    settings = {"attention": "decoder_self", "half": half, "tolerance": 0.05}
    assert verdict("kept_by_depth", study(rows, heads=heads), **settings) == expected
    one_layer = [head for head in heads if head["layer"] == 0]
    lacks("kept_by_depth", study(rows, heads=one_layer), "one layer has no halves", **settings)


def test_kept_by_depth_ignores_the_middle_layer() -> None:
    rows = everything((2, 4, 4))
    heads = [h for h in kept(rows[1], [("decoder_self", 1, 0), ("decoder_self", 1, 1)]) if h["layer"] < LAYERS - 1]
    settings = {"attention": "decoder_self", "half": "upper", "tolerance": 0.0}
    assert verdict("kept_by_depth", study(rows, heads=heads), **settings) == NO


@pytest.mark.parametrize(("last", "expected"), [([0.01, 0.99], YES), ([0.5, 0.6], NO), ([0.5, *[0.01] * 9], OPEN)])
def test_gates_settle(last: list[float], expected: Verdict) -> None:
    settings = {"scope": "encoder", "certain": 0.95, "share": 0.9, "tolerance": 0.02}
    rows = [run("baseline"), run("l0-encoder-0.1")]
    gates = [
        {"run": rows[1]["run"], "corpus": "en-de", "update": update, "open_probability": p}
        for update, values in ((10, [0.5] * 9), (20, last))
        for p in values
    ]
    assert verdict("gates_settle", study(rows, gates=gates), **settings) == expected
    others = [{**gate, "run": "l0-all-1-s1"} for gate in gates]
    lacks("gates_settle", study(rows, gates=others), "no gates of these runs", **settings)


def masses(temperature: float) -> dict[str, Any]:
    import torch

    gate = {"temperature": temperature, "low": -0.1, "high": 1.1}
    at = [torch.tensor(value) for value in (0.0, 2.0, -3.0)]
    listed = [[float(a), float(probability_closed(a, **gate)), float(probability_one(a, **gate))] for a in at]
    return {"masses": listed, **gate}


def test_gate_masses_are_those_of_the_model() -> None:
    outcome = of_pruning.gate_masses(study(), claim("t", points=1e-6, **masses(0.33)))
    assert (outcome.verdict, outcome.seeds) == (YES, 0)
    assert verdict("gate_masses", study(), points=1e-6, **(masses(0.33) | {"temperature": 0.5})) == NO


def test_one_seeds_interval_ends_where_the_p_value_is_exactly_five_percent() -> None:
    tables = encoder({1: 29.0}, p_value=0.05)
    outcome = of_pruning.end_costs(tables, claim("t", scope="encoder", fewest=0.13, points=0))
    assert outcome.low == pytest.approx(0.0, abs=1e-6)
    assert outcome.high == pytest.approx(2.0, abs=1e-6)
