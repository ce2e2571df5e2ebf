"""Each run's partner has everything in common with it but the one thing that is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.config import parse
from headcount.partners import partner
from headcount.plan import runs

CONTROLS = {"reinit": "all", "reinit_longer": "all", "same_counts": "all"}
STUDY: dict[str, Any] = {
    "seeds": [1, 2],
    "methods": ["entmax", "l0", "lottery", "ranked", "subset"],
    "model": {"layers_encoder": 3, "layers_decoder": 3, "heads": 8},
    "entmax": {"normalisers": ["entmax15"]},
    "l0": {
        "normalisers": ["softmax", "entmax15"],
        "scopes": ["encoder", "all"],
        "penalties_encoder": [0.01],
        "penalties_all": [0.02],
        "target_heads_encoder": [18],
        "target_heads_all": [36, 18],
        "scratch_all": [0.02],
        "random_encoder": [0.01],
        "variants": {"long": {"updates": 900}},
    },
    "lottery": {
        "scope": "all",
        "normalisers": ["softmax", "entmax15"],
        "heads_per_round": 9,
        "tickets": [36, 18],
        "controls": CONTROLS,
        "longer_learning_rates": [0.001],
        "variants": {
            "michel": {"scorer": "michel", "controls": {"reinit": "all"}},
            "upper": {"scope": "encoder", "heads_per_round": 3, "tickets": [18]},
            "few": {"tickets": [9]},
        },
    },
    "ranked": {"scorers": ["michel"], "ways": ["one_shot"], "heads": [18, 9]},
    "subset": {"estimators": ["gumbel"], "heads": [36]},
    "roles": {"removal": True},
    "analyses": ["roles"],
}
PLAN = runs(parse({**STUDY, "corpora": {"en-fr": {"data": {"target_language": "fr"}}}}))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("reinit-18-s1", "ticket-18-s1"),
        ("reinit_longer-36-0.001-s2", "ticket-36-s2"),
        ("same_counts-18-s1", "ticket-18-s1"),
        ("michel-ticket-36-s1", "ticket-36-s1"),
        ("michel-reinit-36-s1", "ticket-36-s1"),
        ("entmax15-reinit-18-s1", "entmax15-ticket-18-s1"),
        ("l0-all-18h-s2", "ticket-18-s2"),
        ("long-l0-all-36h-s1", "ticket-36-s1"),
        ("entmax15-l0-all-18h-s1", "entmax15-ticket-18-s1"),
        ("ranked-michel-one_shot-18-s1", "ticket-18-s1"),
        ("subset-gumbel-36-s2", "ticket-36-s2"),
        ("scratch-all-0.02-s1", "l0-all-0.02-s1"),
        ("entmax15-random-encoder-0.01-s2", "entmax15-l0-encoder-0.01-s2"),
        ("named-encoder-s1", "unnamed-encoder-s1"),
        ("en-fr-reinit-18-s2", "en-fr-ticket-18-s2"),
        ("en-fr-named-encoder-s1", "en-fr-unnamed-encoder-s1"),
    ],
)
def test_a_partner_differs_in_one_thing(run: str, expected: str):
    assert partner(PLAN[run], PLAN) == expected


@pytest.mark.parametrize(
    "run",
    [
        *("baseline-s1", "entmax15-s1", "ticket-18-s1", "entmax15-ticket-36-s2", "round-01-s1", "unnamed-encoder-s1"),
        *("l0-all-0-s1", "l0-all-0.02-s1", "l0-encoder-18h-s1", "upper-ticket-18-s1"),
        *("few-ticket-9-s1", "ranked-michel-one_shot-9-s1"),
    ],
)
def test_without_a_main_ticket_of_as_many_heads_there_is_none(run: str):
    assert partner(PLAN[run], PLAN) is None


def test_a_partner_has_a_model_and_a_study_without_a_lottery_has_no_tickets():
    found = [PLAN[name] for run in PLAN.values() if (name := partner(run, PLAN))]
    assert found
    assert all(run.trains_a_model for run in found)
    plan = runs(parse({**STUDY, "methods": ["entmax", "l0", "ranked"]}))
    assert {partner(run, plan) for run in plan.values() if run.method in ("ranked", "l0")} == {None}
