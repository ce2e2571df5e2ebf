"""Verdicts: a claim is a statement with a test, an outcome is our number with its interval and what follows from it.

The rule is the same for every claim. A test boils down to one number that must be above, or below, a limit.

- *reproduced*: the whole interval is on the side that the claim names.
- *not reproduced*: the whole interval is on the other side.
- *not testable at this scale*: the interval holds the limit, or the study has not the runs that the test needs.

From three seeds on the interval is the 95 % t-interval of their mean (`headcount.claims.estimate.over_seeds`). With one
or two seeds it spans their own intervals, which speak of test sentences or cases and not of other initial weights; a
number that has none, such as a share of heads, gets the tolerance that the claim states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from headcount.claims.estimate import Estimate
from headcount.claims.tables import Tables
from headcount.errors import UserError
from headcount.registry import nearest
from headcount.settings import Section


class Verdict(StrEnum):
    """What follows from an outcome, the weakest first."""

    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable at this scale"
    REPRODUCED = "reproduced"


class Claim(Section):
    """One testable statement of a paper, or of ours where it is a control, as it stands in `workflow/claims/`."""

    claim: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="id, unique within the paper")
    locator: str = Field(description="where it stands, in the paper's own numbering")
    statement: str = Field(description="the statement in our words, true or false")
    paper_value: str = Field(description="the number the paper gives, with its unit")
    test: str = Field(description="name of the function that tests it")
    corpus: Literal["main", "every", "english", "targets", "synthetic"] = Field(
        description="main: the study's main corpus; every: each that is not synthetic, the weakest counts; "
        "english: of these each with an English source; targets: those named by a pair of languages; "
        "synthetic: those with synthetic in their name"
    )
    together: bool = Field(False, description="the test compares these corpora and gets the tables of all")
    settings: dict[str, Any] = Field({}, description="limits and choices that the test reads")
    source: str = Field(description="where statement and number come from")
    trust: Literal["high", "exact", "low", "ours"] = Field(description="how far the source can be relied on")

    def __getitem__(self, key: str) -> Any:
        """Return a setting of the test.

        Raises:
            UserError: the claim does not state it.

        """
        if key not in self.settings:
            hint = nearest(key, self.settings)
            raise UserError(f"claim {self.claim}: settings lack {key!r}, which the test {self.test} needs{hint}")
        return self.settings[key]


@dataclass(frozen=True)
class Outcome:
    """Our number, its 95 % interval and the verdict; without a number the study lacks what the test needs."""

    ours: float | None
    low: float | None
    high: float | None
    seeds: int
    verdict: Verdict
    note: str = ""


Test = Callable[[Tables, Claim], Outcome]
"""Tests a claim on the tables of the corpus, or corpora, that it is about; raises `Lacking` without the runs."""


def at_least(estimate: Estimate, limit: float, note: str = "") -> Outcome:
    """Judge the claim that a number is `limit` or more."""
    return _outcome(estimate, holds=estimate.low >= limit, fails=estimate.high < limit, note=note)


def more_than(estimate: Estimate, limit: float, note: str = "") -> Outcome:
    """Judge the claim that a number is above `limit`; equality contradicts it."""
    return _outcome(estimate, holds=estimate.low > limit, fails=estimate.high <= limit, note=note)


def at_most(estimate: Estimate, limit: float, note: str = "") -> Outcome:
    """Judge the claim that a number is `limit` or less."""
    return _outcome(estimate, holds=estimate.high <= limit, fails=estimate.low > limit, note=note)


def in_every_seed(holds: Collection[bool], note: str = "") -> Outcome:
    """Judge a yes-or-no claim by the share of seeds that say yes; seeds that disagree leave it open."""
    share = sum(holds) / len(holds)
    agreed = Estimate(share, min(map(float, holds)), max(map(float, holds)), len(holds))
    return at_least(agreed, 1.0, note or "share of the seeds in which it holds")


def weakest(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome with the weakest verdict; the first of several."""
    return min(outcomes, key=lambda outcome: list(Verdict).index(outcome.verdict))


def lacking(reason: str) -> Outcome:
    """Return the outcome of a test that the study has not the runs for."""
    return Outcome(None, None, None, 0, Verdict.NOT_TESTABLE, reason)


def _outcome(estimate: Estimate, *, holds: bool, fails: bool, note: str) -> Outcome:
    verdict = Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED if fails else Verdict.NOT_TESTABLE
    notes = [note] if note else []
    if verdict is Verdict.NOT_TESTABLE:
        notes.append("the interval is too wide" if estimate.high > estimate.low else "undecided")
    if estimate.seeds == 1:
        notes.append("one seed")
    return Outcome(estimate.value, estimate.low, estimate.high, estimate.seeds, verdict, "; ".join(notes))
