"""The claims file of correia2019: complete, consistent with its tests, true of the numbers that the paper prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hand_tables import run, study
from reading import read_by
from sparse_tables import METHODS, by_head, by_layer, cells, dense, everywhere, paths

from headcount.claims.correia2019 import TESTS
from headcount.claims.judge import COLUMNS, rows_of
from headcount.claims.numbers import load, table
from headcount.claims.tables import Tables
from headcount.claims.verdict import Claim, Outcome, Verdict
from headcount.heads import ATTENTION_TYPES

FOLDER = Path(__file__).parents[2] / "workflow" / "claims"
PAPER = load(FOLDER, "correia2019")
NUMBERS = table([PAPER])
CLAIMS = {claim.claim: claim for claim in PAPER.claims}
YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

PAIRS = ("en-de", "ro-en", "ja-en", "de-en")
NAMES = dict(zip(METHODS, ("softmax", "1.5-entmax", "alpha-entmax"), strict=True))
MODELS = [dense(method) for method in METHODS]


def printed(item: str, series: str) -> dict[Any, float]:
    """Return the numbers of a series by their x."""
    rows = NUMBERS[(NUMBERS["item"] == item) & (NUMBERS["series"] == series)]
    assert not rows.empty
    return dict(zip(rows["x"], rows["y"], strict=True))


def judged(name: str, tables: Tables) -> Outcome:
    return TESTS[CLAIMS[name].test](tables, CLAIMS[name])


def test_every_test_is_used_and_every_claim_has_one() -> None:
    assert {claim.test for claim in PAPER.claims} == set(TESTS)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.claim)
def test_a_claim_states_exactly_what_its_test_reads(claim: Claim) -> None:
    assert set(claim.settings) == read_by(TESTS[claim.test])


def test_table_1_and_every_figure_with_a_statement_has_a_claim() -> None:
    cited = {
        (kind, int(number))
        for claim in PAPER.claims
        for kind, numbers in re.findall(r"(table|figure)s? (\d+(?:(?:, | and )\d+)*)", claim.locator)
        for number in re.findall(r"\d+", numbers)
    }
    assert cited == {("table", 1), *(("figure", number) for number in range(2, 15))}


def test_a_study_of_one_softmax_model_has_nothing_to_test() -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(PAPER, TESTS, study([run("baseline")]))]
    assert {row["verdict"] for row in rows} == {OPEN}
    assert all(row["note"] and row["ours"] is None for row in rows)


@pytest.mark.parametrize("pair", PAIRS)
def test_table_1_agrees_with_its_claims(pair: str) -> None:
    exact = {"bleu_delta_low": 0.0, "bleu_delta_high": 0.0}
    tables = study([dense(method, bleu=printed("table1", NAMES[method])[pair], **exact) for method in METHODS])
    for name in ("entmax15-keeps-bleu", "alpha-keeps-bleu", "alpha-never-worst"):
        assert judged(name, tables).verdict == YES


def test_the_speeds_agree_with_their_claims() -> None:
    speed = printed("speed", "training speed")
    tables = study([dense(method, tokens_per_second=speed[NAMES[method]]) for method in METHODS])
    for name in ("entmax15-training-speed", "alpha-training-speed"):
        assert judged(name, tables).ours == CLAIMS[name]["share"]


def test_figure_2_agrees_with_its_claims() -> None:
    start, lowest, end = (printed("figure2", name).values() for name in ("start", "lowest", "end"))
    paper = [[a, *[b] * 9, c] for a, b, c in zip(start, lowest, end, strict=True)]
    tables = study(MODELS, alpha=paths(*paper))
    tables["alpha"].loc[tables["alpha"]["update"] == 110, "update"] = 1000
    assert judged("alpha-dips-first", tables).verdict == YES
    assert judged("alpha-turns-back", tables).verdict == YES
    likeness = judged("start-does-not-decide", tables)
    assert likeness.ours < CLAIMS["start-does-not-decide"]["correlation"]
    assert likeness.verdict == OPEN, "5 heads are too few"


@pytest.mark.parametrize(("pair", "bimodal"), [*zip(PAIRS, (YES, OPEN, OPEN, NO), strict=True)])
def test_figure_3_agrees_with_its_claims_and_has_one_mode_on_the_smallest_corpus(pair: str, bimodal: Verdict) -> None:
    def heads(kind: str) -> list[list[float]]:
        return [[1 + (x - 0.5) / 15] * int(count) for x, count in printed("figure3", f"{pair} {kind}").items()]

    alpha = by_head("entmax_alpha", "alpha", **{kind: heads(kind) for kind in ATTENTION_TYPES})
    tables = study(MODELS, observations=alpha)
    mean, spread = (judged(name, tables) for name in ("encoder-alpha-larger", "encoder-alpha-wider"))
    assert mean.verdict == YES
    assert spread.ours > 0
    assert spread.verdict == (OPEN if pair == "de-en" else YES)
    assert judged("encoder-alpha-bimodal", tables).verdict == bimodal


def test_figure_4_agrees_with_its_claims() -> None:
    def bins(method: str, kind: str) -> dict[float, list[int]]:
        share = printed("figure4", f"{kind} {NAMES[method]}")
        sparse, full = (round(1000 * share[x]) for x in ("below 0.2", "last bin"))
        return {high: [count] * 8 for high, count in ((0.2, sparse), (0.6, 1000 - sparse - full), (1.0, full))}

    rows = [
        row for method in METHODS[1:] for row in cells(method, **{kind: bins(method, kind) for kind in ATTENTION_TYPES})
    ]
    tables = study(MODELS, density=rows)
    assert judged("dense-mode", tables).verdict == YES
    assert judged("encoder-sparsest-background", tables).verdict == YES


@pytest.mark.parametrize("pair", PAIRS)
def test_figure_5_agrees_with_its_claim_on_the_spread(pair: str) -> None:
    def heads(method: str, kind: str) -> list[list[float]]:
        mean, spread = (printed("figure5", f"{kind} {NAMES[method]} {what}")[pair] for what in ("mean", "sd"))
        return [[mean - spread, mean + spread] * 24]

    rows = [
        row
        for method in METHODS[1:]
        for row in by_head(method, "density", **{kind: heads(method, kind) for kind in ATTENTION_TYPES})
    ]
    assert judged("density-spreads-wider", study(MODELS, observations=rows)).verdict == YES


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("encoder", "encoder-denser-upwards"),
        ("decoder_self", "decoder-denser-upwards"),
        ("decoder_cross", "cross-denser-downwards"),
    ],
)
def test_figure_5_agrees_with_its_claims_on_the_layers(kind: str, name: str) -> None:
    layers = [[mean] * 8 for mean in printed("figure5", f"en-de {kind} alpha-entmax").values()]
    tables = study(MODELS, observations=by_head("entmax_alpha", "density", **{kind: layers}))
    assert judged(name, tables).verdict == YES


@pytest.mark.parametrize("pair", PAIRS)
def test_figure_6_agrees_with_its_claims(pair: str) -> None:
    rows = [
        row
        for method in METHODS
        for row in by_layer(
            method,
            **{kind: [printed("figure6", f"{kind} {NAMES[method]} mean")[pair]] for kind in ATTENTION_TYPES},
        )
    ]
    tables = study(MODELS, observations=rows)
    assert judged("entmax15-more-diverse", tables).verdict == YES
    assert judged("entmax15-most-diverse", tables).verdict == YES
    assert judged("alpha-more-diverse", tables).verdict == (OPEN if pair == "en-de" else YES)


def test_figure_6_agrees_with_its_claim_on_the_middle() -> None:
    rows = [
        row
        for method in METHODS
        for row in by_layer(
            method,
            **{kind: list(printed("figure6", f"en-de {kind} {NAMES[method]}").values()) for kind in ATTENTION_TYPES},
        )
    ]
    assert judged("middle-layers-most-diverse", study(MODELS, observations=rows)).verdict == YES


def test_figures_7_to_9_agree_with_their_claims() -> None:
    best = {
        "offset_-1": printed("figure7", "offset -1"),
        "merging": {"softmax": 80.0, **printed("figure8", "best head")},
        "interrogation": printed("figure9", "best head"),
    }
    alpha = {
        "offset_-1": printed("figure7", "alpha")["most confident at -1"],
        "interrogation": printed("figure9", "alpha")["alpha-entmax"],
    }
    heads = printed("figure7", "heads for offset -1")
    links: list[dict[str, Any]] = []
    for method, name in NAMES.items():
        weights = {measure: [[of[name] / 100, 0.0], [0.0, 0.0]] for measure, of in best.items()}
        weights["offset_-1"][0] += [0.8] * (int(heads[name]) - 1)
        links += [row for measure, layers in weights.items() for row in by_head(method, measure, encoder=layers)]
    names = [name for name, claim in CLAIMS.items() if claim.settings.get("measure") in best]
    for measure, learned in alpha.items():
        tables = study(
            MODELS, links=links, observations=by_head("entmax_alpha", "alpha", encoder=[[learned] * 6, [1.5] * 2])
        )
        for name in names:
            if CLAIMS[name].test != "alpha_of_best" or CLAIMS[name]["measure"] == measure:
                assert judged(name, tables).verdict == YES, name


def test_softmax_underflow_counts_as_dense() -> None:
    density = by_head("baseline", "density", **everywhere([[0.9999, 1.0]]))
    assert judged("softmax-is-dense", study(MODELS, observations=density)).verdict == YES
