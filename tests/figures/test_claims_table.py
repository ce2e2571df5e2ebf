from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headcount.claims.judge import COLUMNS
from headcount.claims.verdict import Verdict
from headcount.errors import UserError
from headcount.figures.claims_table import VERDICTS, draw

CLAIM: dict[str, Any] = {
    **{"claim": "c", "paper": "p2019", "locator": "figure 7", "statement": "Flat | then a knee.", "paper_value": "0.1"},
    **{"ours": -0.25, "low": -0.5, "high": 0.125, "seeds": 3, "verdict": Verdict.REPRODUCED, "note": "a note"},
}
UNTESTED = {"ours": None, "low": None, "high": None, "seeds": 0, "verdict": Verdict.NOT_TESTABLE, "note": "no runs"}


def drawn(folder: Path, *changes: dict[str, Any]) -> tuple[str, list[list[str]]]:
    """Return the page, and the cells of the Markdown's rows."""
    pd.DataFrame([CLAIM | change for change in changes], columns=list(COLUMNS)).to_csv(
        folder / "claims.csv", index=False
    )
    draw(folder, folder / "claims.html")
    lines = (folder / "claims.md").read_text(encoding="utf-8").replace(r"\|", "/").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return (folder / "claims.html").read_text(encoding="utf-8"), rows[2:]


def test_a_row_says_what_the_paper_and_what_we_say(tmp_path: Path) -> None:
    _, (row,) = drawn(tmp_path, {})
    said = ["Flat / then a knee.", "figure 7", "0.1", "−0.25", "−0.5 to 0.125", "3", "✓ reproduced", "a note"]
    assert row == said


def test_what_was_not_tested_has_no_numbers(tmp_path: Path) -> None:
    _, (row,) = drawn(tmp_path, UNTESTED)
    assert row[3:] == ["–", "–", "–", "? not testable", "no runs"]


def test_an_open_interval_and_a_number_without_one(tmp_path: Path) -> None:
    _, rows = drawn(tmp_path, {"high": None}, {"low": 0.5, "ours": 0.5, "high": 0.5})
    assert [row[4] for row in rows] == ["−0.5 to –", "–"]


def test_every_verdict_has_a_word_a_symbol_and_a_colour(tmp_path: Path) -> None:
    page, rows = drawn(tmp_path, *({"verdict": verdict} for verdict in Verdict))
    assert set(VERDICTS) == set(Verdict)
    assert len({row[6] for row in rows}) == len({colour for _, colour in VERDICTS.values()}) == len(Verdict)
    assert all(f'background:{colour}"></i>{word}' in page for word, colour in VERDICTS.values())
    assert "3 claims of p2019: 1 reproduced, 1 not reproduced, 1 not testable at this scale." in page


def test_each_paper_has_its_table(tmp_path: Path) -> None:
    page, _ = drawn(tmp_path, {}, {"paper": "q2020"}, {})
    assert page.count("<table>") == 2
    assert page.index("<h2>p2019</h2>") < page.index("<h2>q2020</h2>")
    assert "2 claims of p2019" in page


def test_no_claims_are_no_fault(tmp_path: Path) -> None:
    assert drawn(tmp_path)[1] == []


def test_a_missing_table_names_the_verb(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"claims\.csv: no such table; run `headcount claims` first"):
        draw(tmp_path, tmp_path / "claims.html")
