"""The claims file of behnke2020: complete, consistent with its tests, free of numbers that nobody has read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hand_tables import study
from reading import read_by
from ticket_tables import dense, drawn, heads_of, small

from headcount.claims.behnke2020 import TESTS
from headcount.claims.judge import COLUMNS, rows_of
from headcount.claims.numbers import load, table
from headcount.claims.tables import Tables
from headcount.claims.verdict import Claim, Verdict

FOLDER = Path(__file__).parents[2] / "workflow" / "claims"
PAPER = load(FOLDER, "behnke2020")
NUMBERS = table([PAPER])
CLAIMS = {claim.claim: claim for claim in PAPER.claims}
YES, OPEN = Verdict.REPRODUCED, Verdict.NOT_TESTABLE


def judged(name: str, tables: Tables) -> Verdict:
    return TESTS[CLAIMS[name].test](tables, CLAIMS[name]).verdict


def test_every_test_is_used_and_every_claim_has_one() -> None:
    assert {claim.test for claim in PAPER.claims} == set(TESTS)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.claim)
def test_a_claim_states_exactly_what_its_test_reads(claim: Claim) -> None:
    assert set(claim.settings) == read_by(TESTS[claim.test])


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.claim)
def test_whatever_is_the_papers_is_a_qualitative_claim_and_the_rest_is_not(claim: Claim) -> None:
    """Its full text was not read, so nothing here can reproduce a table."""
    assert ("qualitative claim" in claim.locator) == (claim.trust != "ours" and "public review" not in claim.locator)
    assert not re.search(r"\b(table|figure)s? \d", f"{claim.locator} {claim.statement} {claim.paper_value}")


def test_every_known_result_and_every_control_has_a_claim() -> None:
    cited = {name for claim in PAPER.claims for name in re.findall(r"\b[RK]\d+\b", claim.locator)}
    assert cited == {*(f"R{number}" for number in range(1, 11)), *(f"K{number}" for number in range(2, 13))}


def test_only_the_numbers_that_a_source_gives_are_printed() -> None:
    printed = {(row.item, row.series, row.x): row.y for row in NUMBERS.itertuples()}
    assert printed == {
        ("abstract", "tr-en, all heads, BLEU", 75): -0.1,
        ("abstract", "en-de student, encoder heads, BLEU", 75): -0.2,
        ("abstract", "tr-en, all heads, speed", 75): 1.5,
        ("abstract", "en-de student, encoder heads, speed", 75): 1.1,
        ("notes", "tr-en, all heads, removed", "from"): 50,
        ("notes", "tr-en, all heads, removed", "to"): 72,
        ("notes", "tr-en, all heads, BLEU", 80): -1,
        ("notes", "tr-en, all heads, BLEU", 90): -1,
    }


def test_on_a_study_of_one_model_nothing_can_be_tested() -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(PAPER, TESTS, study([dense()]))]
    assert {row["verdict"] for row in rows} == {OPEN}
    assert all(row["note"] for row in rows)


def test_the_known_numbers_agree_with_their_claims() -> None:
    def timed(name: str, heads: int, beam: int, speedup: float) -> dict[str, Any]:
        return {
            **{"run": f"ticket-{heads}-s1", "corpus": "en-de", "beam": beam, "sentences_per_batch": 32},
            **{"seconds_per_sentence": 1.0, "low": 1.0, "high": 1.0, "speedup": speedup, "ceiling": 1.6},
        }

    losses = {12: 0.0, 7: 0.0, 6: 0.1, 3: 1.0}
    tickets = [small("ticket", heads, 30 - lost, half=0.05, updates_total=150) for heads, lost in losses.items()]
    student = small("ticket", 2, 29.8, scope="encoder", half=0.05)
    tables = study(
        [dense(), *tickets, student],
        speeds=[timed("all", 6, beam, 1.5) for beam in (1, 4)] + [timed("student", 2, 1, 1.1)],
    )
    names = [
        *("half-to-seventy-two-percent", "three-quarters-of-all-heads", "last-fifth-is-lost", "last-fifth-is-bounded"),
        *("knee", "one-and-a-half-times-as-fast", "faster-with-beam", "faster-when-greedy", "longer-training"),
        *("student-keeps-quality", "student-is-faster"),
    ]
    assert {name: judged(name, tables) for name in names} == dict.fromkeys(names, YES)


def test_the_known_patterns_agree_with_their_claims() -> None:
    quarter = {"encoder": (1, 2, 2, 1), "decoder_self": (0, 2, 2, 2), "decoder_cross": (2, 2, 2, 0)}
    rows = [drawn(1, quarter, seed=seed) for seed in (1, 2, 3)]
    tables = study(
        [*(dense(seed=seed) for seed in (1, 2, 3)), *rows],
        heads=[head for row in rows for head in heads_of(row, quarter)],
    )
    names = [claim.claim for claim in PAPER.claims if re.search(r"R[789]", claim.locator)]
    names.remove("student-ends-outlast-middle")
    assert {name: judged(name, tables) for name in names} == dict.fromkeys(names, YES)
