"""What the papers claim beside what we find: one table a paper, a row for each claim, with its verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from headcount.errors import UserError
from headcount.figures.groups import read
from headcount.figures.style import MINUS
from headcount.figures.tabular import NOTHING, Cell, Table, write

VERDICTS = {
    "reproduced": ("✓ reproduced", "#009E73"),
    "not reproduced": ("✗ not reproduced", "#D55E00"),
    "not testable at this scale": ("? not testable", "#8F8F8F"),
}
"""What stands for each verdict, and the colour of its dot."""

COLUMNS = (
    ("", "claim"),
    ("", "where"),
    ("", "paper"),
    ("ours", "value"),
    ("ours", "95 % interval"),
    ("ours", "seeds"),
    ("", "verdict"),
    ("", "remark"),
)

NOTES = (
    "Reproduced: the whole interval is on the side of the limit that the statement names. Not reproduced: the whole "
    "interval is on the other side. Not testable at this scale: the interval holds the limit, or the runs are missing.",
    "From three seeds on the interval is that of their mean. With fewer it covers test sentences or cases only, or is "
    "the tolerance that the claim states. Of several corpora the weakest outcome is shown; a dash is a number without "
    "an interval.",
    "The paper's values are of 6+6 layers of 8 heads or more and of far larger corpora.",
)


def draw(tables: Path, out: Path) -> None:
    """Read `claims.csv` and write a table for each paper to `out` (HTML) and beside it as Markdown.

    Raises:
        UserError: there is no such table.

    """
    if not (tables / "claims.csv").is_file():
        raise UserError(f"{tables / 'claims.csv'}: no such table; run `headcount claims` first")
    claims = read(tables, "claims")
    papers = [(str(paper), rows) for paper, rows in claims.groupby("paper", sort=False)]
    write([_table(paper, rows) for paper, rows in papers] or [_table("claims", claims)], out)


def _table(paper: str, rows: pd.DataFrame) -> Table:
    counts = ", ".join(f"{(rows['verdict'] == verdict).sum()} {verdict}" for verdict in VERDICTS)
    return Table(
        title=paper,
        columns=COLUMNS,
        rows=[_row(row) for _, row in rows.iterrows()],
        notes=(f"{len(rows)} claims of {paper}: {counts}.", *NOTES),
    )


def _row(row: pd.Series) -> list[str | Cell]:
    word, colour = VERDICTS[row["verdict"]]
    interval = f"{_number(row['low'])} to {_number(row['high'])}"
    return [
        *(_text(row[name]) for name in ("statement", "locator", "paper_value")),
        _number(row["ours"]),
        NOTHING if pd.isna(row["ours"]) or row["low"] == row["high"] else interval,
        f"{row['seeds']:.0f}" if row["seeds"] else NOTHING,
        Cell(word, dot=colour),
        _text(row["note"]),
    ]


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _number(value: float) -> str:
    """Write a number with three digits; an end that does not exist as a dash."""
    return NOTHING if pd.isna(value) else f"{value:.3g}".replace("-", MINUS)
