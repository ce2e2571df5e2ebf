from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pruned_runs import gated, run

from headcount.figures.equal_heads import WAYS, contests
from headcount.figures.style import VARIANTS

KEPT = (2, 4, 6)


def asked(name: str, method: str, variant: str = "", heads: int = 12, **others: Any) -> Any:
    """Return a run that was to keep some number of heads."""
    usual = {"scope": "all", "setting": f"{heads} of 24 heads"}
    return run(f"{name}-s1", method, KEPT, variant=variant, target_heads=heads, **{**usual, **others})


def curves(**losses: float) -> pd.DataFrame:
    """Return the validation loss of runs at two updates, the last of which counts."""
    rows = [(f"{name}-s1", update, loss + early) for name, loss in losses.items() for update, early in ((9, 0), (5, 7))]
    table = pd.DataFrame(rows, columns=["run", "update", "value"])
    return table.assign(corpus="en-de", metric="valid/nll")


def test_models_that_were_asked_for_heads_are_compared_within_corpus_and_scope() -> None:
    student = {"corpus": "student", "scope": "encoder"}
    runs = pd.DataFrame(
        [
            run("baseline-s1", "baseline"),
            gated("all", 0.1, KEPT, 19.0),
            asked("ticket-12", "ticket"),
            asked("ticket-6", "ticket", heads=6),
            asked("entmax-ticket-12", "ticket", parent_normaliser="entmax15"),
            run("narrow-s1", "smaller", (4, 4, 4), variant="narrow"),
            run("student-baseline-s1", "baseline", corpus="student"),
            asked("student-ticket-2", "ticket", heads=2, **student),
        ]
    )
    whole, encoder = contests(runs)
    assert (whole.corpus, whole.scope, whole.every, whole.sizes) == ("en-de", "all", 24, [12, 6])
    assert (encoder.corpus, encoder.scope, encoder.every, encoder.sizes) == ("student", "encoder", 8, [2])
    assert [group.first_run for group in whole.models] == ["ticket-12-s1", "ticket-6-s1"]
    assert [group.variant for group in whole.smaller] == ["narrow"]
    assert (whole.title(runs), encoder.title(runs)) == ("en-de", "student, encoder heads only")


def test_of_several_settings_that_of_the_lowest_loss_is_drawn_and_all_are_counted() -> None:
    tried = [asked("l0-12", "l0"), asked("long-l0-12", "l0", "long"), asked("l0-6", "l0", heads=6)]
    (contest,) = contests(pd.DataFrame(tried), curves(**{"l0-12": 2.0, "long-l0-12": 1.5, "l0-6": 3.0}))
    arm = contest.arm("l0")
    assert arm is not None
    assert {heads: group.variant for heads, group in arm.models.items()} == {12: "long", 6: ""}
    assert arm.label == "L0 gates (best of 2)"


def test_a_ticket_is_no_variant_of_another() -> None:
    tickets = [
        asked("ticket-12", "ticket"),
        asked("michel-ticket-12", "ticket", "michel"),
        asked("a", "ticket", "mine"),
    ]
    longer = [asked(rate, "reinit_longer", rate) for rate in ("0.001", "1e-05")]
    (contest,) = contests(pd.DataFrame([*tickets, *longer, asked("b", "reinit_longer", "michel-0.001")]))
    assert [arm.name for arm in contest.arms(contest.tickets())] == ["ticket", "ticket-michel", "ticket-mine"]
    assert all(arm.tries == 1 for arm in contest.arms(contest.tickets()))
    found = contest.arm("reinit_longer")
    assert found is not None
    assert found.tries == 2


def test_without_validation_any_setting_may_stand() -> None:
    (contest,) = contests(pd.DataFrame([asked("l0-12", "l0"), asked("long-l0-12", "l0", "long")]))
    assert contest.loss(contest.models[0]) == float("inf")
    assert contest.arm("l0") is not None


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_every_look_of_a_variant_is_of_a_way_or_a_ticket(name: str) -> None:
    assert name in WAYS or name.startswith("ticket-")
