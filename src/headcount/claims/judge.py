"""Every claim of the chosen papers against a study's tables: `claims.csv`, and the papers' numbers beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from headcount.claims import numbers
from headcount.claims.tables import Lacking, Tables, read
from headcount.claims.verdict import Claim, Outcome, Test, Verdict, lacking, weakest
from headcount.errors import UserError
from headcount.files import atomic_write
from headcount.registry import load, nearest

COLUMNS = (
    *("claim", "paper", "locator", "statement", "paper_value"),
    *("ours", "low", "high", "seeds", "verdict", "note"),
)
"""Columns of `claims.csv`; `low` and `high` are a 95 % interval, empty where it has no end."""

DIGITS = "%.6g"
LANGUAGE_PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}")


def write(tables: Path, claims: Path, papers: Sequence[str], out: Path) -> None:
    """Write `claims.csv` and `paper_numbers.csv` into the folder `out`.

    Args:
        tables: folder with the tidy tables of a study.
        claims: folder with one YAML file a paper.
        papers: names of the papers, in the order of the rows.
        out: folder, as a rule the one of the tables.

    Raises:
        UserError: a paper is unknown, its file has a fault, or there are no tables.

    """
    read_papers = [numbers.load(claims, paper) for paper in papers]
    study = read(tables)
    rows = [row for paper in read_papers for row in rows_of(paper, tests_of(paper.paper), study)]
    for name, table in (
        ("claims", pd.DataFrame(rows, columns=list(COLUMNS))),
        ("paper_numbers", numbers.table(read_papers)),
    ):
        atomic_write(out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n", float_format=DIGITS))


def tests_of(paper: str) -> Mapping[str, Test]:
    """Return the tests of a paper's claims by name, from the module `headcount.claims.<paper>`."""
    tests: Mapping[str, Test] = load("claims", paper).TESTS
    return tests


def rows_of(paper: numbers.Paper, tests: Mapping[str, Test], study: Tables) -> list[tuple[object, ...]]:
    """Return the rows of `claims.csv` for one paper.

    Raises:
        UserError: a claim names a test that does not exist.

    """
    rows: list[tuple[object, ...]] = []
    for claim in paper.claims:
        if claim.test not in tests:
            hint = nearest(claim.test, tests)
            raise UserError(f"{paper.paper}: claim {claim.claim}: test {claim.test!r} is unknown{hint}")
        outcome = judge(claim, tests[claim.test], study)
        ends = [None if end is None or not math.isfinite(end) else end for end in (outcome.low, outcome.high)]
        said = (claim.claim, paper.paper, claim.locator, claim.statement, claim.paper_value)
        rows.append((*said, outcome.ours, *ends, outcome.seeds, str(outcome.verdict), outcome.note))
    return rows


def judge(claim: Claim, test: Test, study: Tables) -> Outcome:
    """Test a claim on the corpora that it is about; of several the weakest outcome counts.

    A corpus without the runs that the test needs is left out, unless all are.
    """
    corpora = chosen(claim.corpus, study.corpora)
    if not corpora:
        return lacking(f"the study has no {claim.corpus} corpus")
    if claim.together:
        return _outcome(claim, test, study.only(corpora))
    outcomes = {corpus: _outcome(claim, test, study.only([corpus])) for corpus in corpora}
    tested = {corpus: outcome for corpus, outcome in outcomes.items() if outcome.ours is not None}
    if not tested:
        return next(iter(outcomes.values()))
    worst = weakest(list(tested.values()))
    if len(outcomes) == 1:
        return worst
    all_verdicts = ", ".join(f"{corpus} {_short(outcome)}" for corpus, outcome in outcomes.items())
    return Outcome(worst.ours, worst.low, worst.high, worst.seeds, worst.verdict, f"{worst.note}; {all_verdicts}")


def chosen(which: str, corpora: Sequence[str]) -> list[str]:
    """Return the corpora that `main`, `every`, `english`, `targets` or `synthetic` means.

    A corpus is synthetic when its name says so. The source of any other is English unless its name is a pair of
    language codes that begins otherwise.
    """
    if which == "main":
        return list(corpora[:1])
    synthetic = [corpus for corpus in corpora if "synthetic" in corpus]
    if which == "synthetic":
        return synthetic
    if which == "every":
        return [corpus for corpus in corpora if corpus not in synthetic]
    pairs = [corpus for corpus in corpora if LANGUAGE_PAIR.fullmatch(corpus)]
    english = [corpus for corpus in corpora if corpus.startswith("en-") or corpus not in (*synthetic, *pairs)]
    return english if which == "english" else [corpus for corpus in english if corpus in pairs]


def _outcome(claim: Claim, test: Test, tables: Tables) -> Outcome:
    try:
        return test(tables, claim)
    except Lacking as reason:
        return lacking(str(reason))


def _short(outcome: Outcome) -> str:
    if outcome.ours is None:
        return "lacks the runs"
    return {Verdict.REPRODUCED: "yes", Verdict.NOT_REPRODUCED: "no"}.get(outcome.verdict, "open")
