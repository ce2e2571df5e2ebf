"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import lacks, verdict
from ticket_tables import TICKET, dense, small

from headcount.claims import of_tickets
from headcount.claims.tables import Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE


def tickets(bleus: dict[int, float], half: float = 0.1) -> Tables:
    """Return tickets: heads kept, of 24, to BLEU; the dense model has 30."""
    return study([dense(), *(small("ticket", heads, bleu, half=half) for heads, bleu in bleus.items())])


@pytest.mark.parametrize(("bleu", "half", "expected"), [(29.8, 0.1, YES), (29.0, 0.1, NO), (29.7, 0.5, OPEN)])
def test_loses_at_most(bleu: float, half: float, expected: Verdict) -> None:
    stated = claim("t", scope="all", arm=TICKET, removed=(0.7, 0.78), points=0.5)
    assert verdict(of_tickets.loses_at_most, tickets({12: 20.0, 6: bleu}, half), stated) == expected
    lacks(of_tickets.loses_at_most, tickets({12: 29.0}), stated, "lacks 70% to 78%")


def test_the_loss_is_the_mean_of_the_models_between_the_limits_and_the_note_names_them() -> None:
    stated = claim("t", scope="all", arm=TICKET, removed=(0.5, 0.75), points=0.5)
    outcome = of_tickets.loses_at_most(tickets({18: 20.0, 12: 29.0, 6: 28.0, 3: 20.0}), stated)
    assert outcome.ours == pytest.approx(1.5)
    assert "12 heads, 6 heads" in outcome.note


@pytest.mark.parametrize(("bleu", "half", "expected"), [(29.0, 0.1, YES), (29.9, 0.1, NO), (29.4, 0.5, OPEN)])
def test_loses_at_least(bleu: float, half: float, expected: Verdict) -> None:
    stated = claim("t", scope="all", arm=TICKET, removed=(0.8, 0.9), points=0.5)
    assert verdict(of_tickets.loses_at_least, tickets({3: bleu}, half), stated) == expected


def test_zero_points_mean_any_loss() -> None:
    stated = claim("t", scope="all", arm=TICKET, removed=(0.8, 0.9), points=0)
    assert verdict(of_tickets.loses_at_least, tickets({3: 30.0}, half=0.0), stated) == NO
    assert verdict(of_tickets.loses_at_least, tickets({3: 29.9}, half=0.0), stated) == YES


@pytest.mark.parametrize(
    ("half", "most", "error", "expected"), [(29.9, 28.0, 0.1, YES), (29.0, 28.9, 0.1, NO), (29.9, 29.3, 0.2, OPEN)]
)
def test_loses_more_at_the_end(half: float, most: float, error: float, expected: Verdict) -> None:
    settings: dict[str, Any] = {"half": (0.45, 0.55), "most": (0.85, 0.92), "points": 0.5}
    stated = claim("t", scope="all", arm=TICKET, **settings)
    test = of_tickets.loses_more_at_the_end
    assert verdict(test, tickets({12: half, 3: most}, error), stated) == expected
    lacks(test, tickets({12: half}), stated, "lacks 85% to 92%")
    apart = study([dense(), dense(seed=2), small("ticket", 12, half), small("ticket", 3, most, seed=2)])
    lacks(test, apart, stated, "no seed has models on both sides")


def test_losses_are_paired_by_seed() -> None:
    """Dense models differ more between the seeds than the tickets lose."""
    rows = [
        row
        for seed, bleu in ((1, 28.0), (2, 32.0), (3, 36.0))
        for row in (dense(seed=seed, bleu=bleu), small("ticket", 6, bleu - 0.1, seed=seed, half=1.0))
    ]
    stated = claim("t", scope="all", arm=TICKET, removed=(0.7, 0.78), points=0.5)
    assert verdict(of_tickets.loses_at_most, study(rows), stated) == YES
    assert verdict(of_tickets.loses_at_most, study(rows[:4]), stated) == OPEN
