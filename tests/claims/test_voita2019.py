"""The claims file of voita2019: complete, consistent with the tests, its numbers with each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hand_tables import run, study
from reading import read_by

from headcount.claims.judge import COLUMNS, rows_of
from headcount.claims.numbers import load, table
from headcount.claims.verdict import Claim, Verdict
from headcount.claims.voita2019 import TESTS

FOLDER = Path(__file__).parents[2] / "workflow" / "claims"
PAPER = load(FOLDER, "voita2019")
NUMBERS = table([PAPER])


def series(item: str, name: str) -> list[float]:
    rows = NUMBERS[(NUMBERS["item"] == item) & (NUMBERS["series"] == name)]
    assert not rows.empty
    return rows["y"].tolist()


def x_of(item: str, name: str) -> list[float]:
    return NUMBERS[(NUMBERS["item"] == item) & (NUMBERS["series"] == name)]["x"].tolist()


def summed(item: str, *names: str) -> list[float]:
    return [sum(values) for values in zip(*(series(item, name) for name in names), strict=True)]


def test_every_test_is_used_and_every_claim_has_one() -> None:
    assert {claim.test for claim in PAPER.claims} == set(TESTS)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.claim)
def test_a_claim_states_exactly_what_its_test_reads(claim: Claim) -> None:
    assert set(claim.settings) == read_by(TESTS[claim.test])


def test_every_table_and_figure_with_numbers_is_there() -> None:
    figures = {"figure1", "figure2", "figure3", "figure6", "figure7", "figure8", "figure9", "figure10"}
    assert set(NUMBERS["item"]) == {"table1", "table2", *figures, "section5.3", "footnote4"}


def test_every_table_and_figure_has_a_claim() -> None:
    cited = {
        (kind, int(number))
        for claim in PAPER.claims
        for kind, numbers in re.findall(r"(table|figure)s? ((?:\d+[a-c-]*(?:, | and )?)+)", claim.locator)
        for number in re.findall(r"\d+", numbers)
    }
    assert cited == {("table", 1), ("table", 2), *(("figure", number) for number in range(1, 11))}


def test_on_a_study_of_one_model_only_the_formula_can_be_tested() -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(PAPER, TESTS, study([run("baseline")]))]
    verdicts = {row["claim"]: row["verdict"] for row in rows}
    assert verdicts.pop("gate-probabilities") == Verdict.REPRODUCED
    assert set(verdicts.values()) == {Verdict.NOT_TESTABLE}
    assert all(row["note"] for row in rows)


@pytest.mark.parametrize("data", ["WMT", "OpenSubtitles"])
def test_figure_9_adds_up_and_holds_the_models_of_table_2(data: str) -> None:
    kinds = ("encoder", "decoder_self", "decoder_cross")
    assert summed("figure9", *(f"{data} {kind}" for kind in kinds)) == [
        144 - x for x in x_of("figure9", f"{data} encoder")
    ]
    assert summed("table2", *(f"{data} {kind}" for kind in kinds)) == x_of("table2", f"{data} pruned")
    of_figure, of_table = (
        set(zip(*(series(item, f"{data} {kind}") for kind in kinds), strict=True)) for item in ("figure9", "table2")
    )
    assert of_table <= of_figure


@pytest.mark.parametrize("kind", ["decoder_self", "decoder_cross"])
def test_figure_10_splits_the_models_of_figure_9(kind: str) -> None:
    parts = [f"{kind} layers {pair}" for pair in ("1-2", "3-4", "5-6")]
    assert summed("figure10", *parts) == series("figure9", f"WMT {kind}")
    assert [48 - x for x in x_of("figure10", parts[0])] == series("figure9", f"WMT {kind}")
    assert all(0 <= heads <= 16 for part in parts for heads in series("figure10", part))


def test_figure_8_adds_up() -> None:
    kinds = ("positional", "syntactic", "rare", "several", "unnamed")
    assert summed("figure8", *kinds) == x_of("figure8", "positional")
    assert all(
        two <= all_ for two, all_ in zip(*(series("figure8", n) for n in ("two relations", "syntactic")), strict=True)
    )
    assert x_of("figure8", "positional") == x_of("figure7", "OpenSubtitles")


@pytest.mark.parametrize(
    ("item", "model"), [("figure1", "OpenSubtitles en-ru"), ("figure2", "WMT en-de"), ("figure2", "WMT en-fr")]
)
def test_figures_1_and_2_show_eight_heads_a_layer(item: str, model: str) -> None:
    kinds = ("positional", "syntactic", "rare", "unnamed")
    assert summed(item, *(f"{model} {kind}" for kind in kinds)) == [8] * 6
    if item == "figure1":
        assert [sum(series(item, f"{model} {kind}")) for kind in kinds] == [series("figure8", k)[0] for k in kinds]


@pytest.mark.parametrize("data", ["WMT", "OpenSubtitles"])
def test_figure_3_has_the_baselines_of_table_1(data: str) -> None:
    assert series("table1", f"{data} baseline") == [share for share in series("figure3", data) for _ in range(2)]
    assert series("figure7", data)[0] == series("table2", f"{data} pruned")[0] == series("table2", f"{data} scratch")[0]


def test_the_claim_on_figure_6_has_its_numbers() -> None:
    (claim,) = [claim for claim in PAPER.claims if claim.test == "gate_masses"]
    printed = zip(x_of("figure6", "P(0)"), series("figure6", "P(0)"), series("figure6", "P(1)"), strict=True)
    assert [tuple(row) for row in claim["masses"]] == list(printed)
