"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import lacks, verdict
from ticket_tables import TICKET, dense, small, validated

from headcount.claims import of_ticket_controls
from headcount.claims.tables import Tables
from headcount.claims.verdict import Claim, Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE
REINIT = {"method": "reinit", "variant": ""}


def against(second: dict[str, str] = REINIT, **settings: Any) -> Claim:
    return claim("t", scope="all", arm=TICKET, against=second, removed=(0.5, 1.0), **settings)


def leads(values: Sequence[float], *, seed: int = 1, half: float = 0.1) -> list[dict[str, Any]]:
    """Return tickets of 12, 9, 6 and 3 heads with these leads over their re-initialised structures of 29 BLEU."""
    rows = [dense(seed=seed)]
    for heads, lead in zip((12, 9, 6, 3), values, strict=False):
        rows.append(small("ticket", heads, 29 + lead, seed=seed, half=half))
        rows.append(small("reinit", heads, 29.0, seed=seed, half=half))
    return rows


@pytest.mark.parametrize("over", ["mean", "weakest"])
def test_beats(over: str) -> None:
    stated = against(over=over)
    assert verdict(of_ticket_controls.beats, study(leads([1.0, 2.0])), stated) == YES
    assert verdict(of_ticket_controls.beats, study(leads([-1.0, -2.0])), stated) == NO
    assert verdict(of_ticket_controls.beats, study(leads([0.1, 0.2], half=0.5)), stated) == OPEN
    lacks(of_ticket_controls.beats, study([dense(), small("ticket", 12, 29.0)]), stated, "no models reinit")


def test_the_weakest_number_of_heads_decides_where_all_are_asked() -> None:
    tables = study(leads([2.0, -0.5, 2.0]))
    assert verdict(of_ticket_controls.beats, tables, against(over="mean")) == YES
    outcome = of_ticket_controls.beats(tables, against(over="weakest"))
    assert (outcome.verdict, outcome.ours) == (NO, -0.5)
    assert "at 9 heads" in outcome.note


def met(rows: list[dict[str, Any]], reach: float) -> list[dict[str, Any]]:
    """Return the rows with the paired bootstrap of each re-initialised model against its ticket."""
    tickets = {row["run"]: row for row in rows if row["method"] == "ticket"}
    found = []
    for row in rows:
        partner = tickets.get(row["run"].replace("reinit", "ticket")) if row["method"] == "reinit" else None
        delta = row["bleu"] - partner["bleu"] if partner else 0.0
        limits = {"partner_low": delta - reach, "partner_high": delta + reach} if partner else {}
        found.append({**row, "partner": partner["run"] if partner else "", **limits})
    return found


def test_the_paired_bootstrap_of_ticket_and_control_decides_what_two_differences_leave_open() -> None:
    rows, growing = leads([0.4, 0.5], half=0.5), leads([0.1, 0.6], half=0.5)
    assert verdict(of_ticket_controls.beats, study(rows), against(over="mean")) == OPEN
    outcome = of_ticket_controls.beats(study(met(rows, 0.2)), against(over="mean"))
    assert (outcome.verdict, outcome.low, outcome.high) == (YES, pytest.approx(0.25), pytest.approx(0.65))
    assert verdict(of_ticket_controls.lead_grows, study(growing), against()) == OPEN
    assert verdict(of_ticket_controls.lead_grows, study(met(growing, 0.1)), against()) == YES


def test_two_seeds_that_disagree_leave_it_open() -> None:
    rows = [*leads([1.0]), *leads([-0.5], seed=2)]
    assert verdict(of_ticket_controls.beats, study(rows), against(over="mean")) == OPEN


def test_a_rival_is_taken_at_its_best() -> None:
    rows = [dense(), small("ticket", 6, 29.0), small("l0", 6, 28.0), small("l0", 6, 29.5, variant="long")]
    tables = study(rows, curves=[*validated("l0-6", 2.0), *validated("long-l0-6", 1.0)])
    outcome = of_ticket_controls.beats(tables, against({"method": "l0", "variant": "*"}, over="mean"))
    assert (outcome.verdict, outcome.ours) == (NO, -0.5)
    assert "l0 long, 1 pair" in outcome.note


@pytest.mark.parametrize(("lead", "half", "expected"), [(-0.5, 0.1, YES), (1.0, 0.1, NO), (0.0, 0.5, OPEN)])
def test_is_at_most_ahead(lead: float, half: float, expected: Verdict) -> None:
    tables = study(leads([lead, lead], half=half))
    assert verdict(of_ticket_controls.is_at_most_ahead, tables, against(points=0.1)) == expected


@pytest.mark.parametrize(
    ("values", "half", "expected"), [([0.1, 1.0, 2.0], 0.1, YES), ([2.0, 1.0, 0.1], 0.1, NO), ([0.1, 0.5], 1.0, OPEN)]
)
def test_lead_grows(values: list[float], half: float, expected: Verdict) -> None:
    assert verdict(of_ticket_controls.lead_grows, study(leads(values, half=half)), against()) == expected


def test_the_slope_is_the_lead_of_a_tenth_of_the_heads() -> None:
    outcome = of_ticket_controls.lead_grows(study(leads([0.0, 1.25, 2.5])), against())
    assert outcome.ours == pytest.approx(1.0)
    lacks(of_ticket_controls.lead_grows, study(leads([1.0])), against(), "ticket and reinit at two sizes")


def rivals(narrow: float, shallow: float, *, ticket: float = 29.0, half: float = 0.1, fast: float = 1.2) -> Tables:
    """Return a ticket that is 1.2 times as fast, beside two smaller dense models of which one is slower."""
    return study(
        [
            dense(),
            small("ticket", 6, ticket, half=half, speedup=1.2),
            small("smaller", 24, narrow, variant="narrow", scope="", half=half, speedup=fast),
            small("smaller", 16, shallow, variant="shallow", scope="", half=half, speedup=1.0),
        ]
    )


def test_beats_smaller() -> None:
    stated = claim("t", scope="all", arm=TICKET, removed=(0.7, 0.78), tolerance=0.05)
    test = of_ticket_controls.beats_smaller
    assert verdict(test, rivals(28.0, 29.9), stated) == YES, "the better one is slower"
    assert verdict(test, rivals(29.5, 28.0), stated) == NO
    assert verdict(test, rivals(28.9, 28.0, half=0.5), stated) == OPEN
    assert "narrow" in test(rivals(28.0, 29.9), stated).note
    lacks(test, rivals(28.0, 29.9, fast=1.1), stated, "is timed and as fast")
    lacks(test, rivals(28.0, 29.9, fast=float("nan")), stated, "is timed and as fast")


def test_the_best_of_the_smaller_models_of_the_same_seed_is_the_rival() -> None:
    fast = {"scope": "", "half": 0.0, "speedup": 1.3}
    rows = [
        *(dense(seed=seed) for seed in (1, 2)),
        *(small("ticket", 6, 29.0, seed=seed, half=0.0, speedup=1.2) for seed in (1, 2)),
        *(small("smaller", 24, bleu, variant=name, **fast) for name, bleu in (("narrow", 28.5), ("shallow", 27.0))),
        small("smaller", 24, 28.0, variant="narrow", seed=2, **fast),
    ]
    stated = claim("t", scope="all", arm=TICKET, removed=(0.7, 0.78), tolerance=0.05)
    outcome = of_ticket_controls.beats_smaller(study(rows), stated)
    assert (outcome.ours, outcome.low, outcome.high, outcome.seeds) == (0.75, 0.5, 1.0, 2)
