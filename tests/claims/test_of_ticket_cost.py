"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import lacks, verdict
from ticket_tables import TICKET, dense, drawn, scored, small

from headcount.claims import of_ticket_cost
from headcount.claims.tables import Tables
from headcount.claims.verdict import Claim, Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE


def timed(speedup: float, *, beam: int = 4, batch: int = 32, spread: float = 0.01, **values: Any) -> dict[str, Any]:
    """Return the row of `speeds.csv` of a ticket that took a second a sentence, more or less."""
    seconds = {"seconds_per_sentence": 1.0, "low": 1 - spread, "high": 1 + spread}
    size = {"beam": beam, "sentences_per_batch": batch}
    return {"run": "ticket-6-s1", "corpus": "en-de", **size, **seconds, "speedup": speedup, "ceiling": 1.4, **values}


def speeds(*rows: dict[str, Any]) -> Tables:
    return study([dense(), small("ticket", 6, 29.0), small("ticket", 12, 29.0)], speeds=rows)


def searched(search: str, **settings: Any) -> Claim:
    return claim("t", scope="all", arm=TICKET, removed=(0.7, 0.78), search=search, sentences_per_batch=32, **settings)


@pytest.mark.parametrize(("speedup", "spread", "expected"), [(1.3, 0.01, YES), (1.1, 0.01, NO), (1.25, 0.2, OPEN)])
def test_decodes_faster(speedup: float, spread: float, expected: Verdict) -> None:
    others = [timed(9.0, beam=1), timed(9.0, beam=2), timed(9.0, batch=1), timed(9.0, run="ticket-12-s1")]
    tables = speeds(*others, timed(speedup, spread=spread))
    assert verdict(of_ticket_cost.decodes_faster, tables, searched("beam", factor=1.2)) == expected
    assert verdict(of_ticket_cost.decodes_faster, tables, searched("greedy", factor=1.2)) == YES


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_what_was_not_timed_is_lacking(search: str) -> None:
    other = timed(2.0, beam=4 if search == "greedy" else 1)
    match = f"no timings of {search} search in batches of 32"
    lacks(of_ticket_cost.decodes_faster, speeds(other), searched(search, factor=1.2), match)
    lacks(of_ticket_cost.stays_below_ceiling, speeds(timed(2.0, batch=1)), searched(search), match)


@pytest.mark.parametrize(("speedup", "spread", "expected"), [(1.3, 0.01, YES), (1.6, 0.01, NO), (1.4, 0.1, OPEN)])
def test_stays_below_ceiling(speedup: float, spread: float, expected: Verdict) -> None:
    assert (
        verdict(of_ticket_cost.stays_below_ceiling, speeds(timed(speedup, spread=spread)), searched("beam")) == expected
    )
    unknown = speeds(timed(speedup, ceiling=float("nan")))
    lacks(of_ticket_cost.stays_below_ceiling, unknown, searched("beam"), "no bound")


def trained(method: str, seconds: float, heads: int) -> Tables:
    """Return a training with so many heads, which is a round that removes another one or a ticket."""
    if method == "ticket":
        return study([dense(), small("ticket", heads, 29.0, seconds_per_update=seconds)], rounds=[])
    row = drawn(1, {}, heads=heads - 1, seconds_per_update=seconds)
    return study([dense(), row], rounds=scored(row, 1, heads))


@pytest.mark.parametrize("method", ["round", "ticket"])
@pytest.mark.parametrize(("seconds", "expected"), [(0.7, YES), (0.9, NO), (0.82, OPEN)])
def test_trains_faster(method: str, seconds: float, expected: Verdict) -> None:
    stated = claim("t", method=method, removed=0.75, share=0.8, tolerance=0.05)
    test = of_ticket_cost.trains_faster
    assert verdict(test, trained(method, seconds, 6), stated) == expected
    lacks(test, trained(method, seconds, 7), stated, f"no {method} trains without 75%")
    lacks(test, trained(method, float("nan"), 6), stated, f"no {method} trains without 75%")


@pytest.mark.parametrize(("updates", "expected"), [(130.0, YES), (100.0, NO)])
def test_costs_more_training(updates: float, expected: Verdict) -> None:
    stated = claim("t", scope="all", arm=TICKET, removed=(0.7, 0.78))
    tables = study([dense(), small("ticket", 6, 29.0, updates_total=updates)])
    assert verdict(of_ticket_cost.costs_more_training, tables, stated) == expected
    unknown = study([dense(), small("ticket", 6, 29.0, updates_total=float("nan"))])
    lacks(of_ticket_cost.costs_more_training, unknown, stated, "no updates_total of ticket-6-s1")
