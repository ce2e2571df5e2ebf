"""What each way to few heads costs in training, and what it gives: x + N·y + T of behnke2020, as a table.

Updates and time count everything that a model builds on: of the dense model what was taken over, the lottery's rounds,
and its own training. Rows are the dense model, then every way at each number of heads.
"""

from __future__ import annotations

from pathlib import Path

from headcount.figures.cells import bleu, lead
from headcount.figures.equal_heads import Contest, contests
from headcount.figures.groups import Group, read
from headcount.figures.style import MINUS, look
from headcount.figures.tabular import Cell, Table, write

UPDATES = "updates"
COLUMNS = [
    ("", "heads kept"),
    ("", "model"),
    (UPDATES, "of the dense model"),
    (UPDATES, "of rounds"),
    (UPDATES, "own"),
    (UPDATES, "in all"),
    ("", "ms an update"),
    ("", "minutes in all"),
    ("", "BLEU"),
    ("", f"BLEU {MINUS} dense"),
]
NOTES = (
    "Means over the seeds; BLEU ± standard deviation, of one seed with its 95 % bootstrap interval. Of the dense model "
    "count the updates that were needed: all of them for what prunes a trained model, those before the rewind for the "
    "lottery. A re-initialised model needs its ticket's rounds as well, since they chose its heads.",
    "Times are those of this study's machine, validations included; an update alone is the median over the training.",
)
NOTHING = Table("cost of training", [("", "model")], [], ["No model was asked to keep a number of heads."])


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and write the tables to `out` (HTML) and beside it as Markdown."""
    runs = read(tables, "runs")
    listed = [_table(contest, contest.title(runs)) for contest in contests(runs)]
    write(listed or [NOTHING], out)


def _table(contest: Contest, title: str) -> Table:
    """Return the table of one contest."""
    rows = [_row(group, f"{contest.every}", None) for group in [contest.dense] if group]
    for size in contest.sizes:
        rows += [_row(group, f"{size}", contest.dense) for group in contest.at(size)]
    rows += [_row(group, "smaller", contest.dense) for group in contest.smaller]
    flat = [heading if not above else f"{above} {heading}" for above, heading in COLUMNS]
    return Table(title or NOTHING.title, COLUMNS, rows, NOTES, flat)


def _row(group: Group, heads: str, dense: Group | None) -> list[str | Cell]:
    rounds, own, total = (_mean(group, name) for name in ("updates_rounds", "updates", "updates_total"))
    taken = None if rounds is None or own is None or total is None else total - own - rounds
    style = look(group.method, group.variant)
    return [
        heads,
        Cell(style.label, dot=style.colour),
        _count(taken),
        _count(rounds),
        _count(own),
        _count(total),
        _digits(_mean(group, "seconds_per_update"), 1000),
        _digits(_mean(group, "train_seconds_total"), 1 / 60),
        bleu(group),
        lead(group, dense),
    ]


def _mean(group: Group, column: str) -> float | None:
    value = group.value(column)
    return value.centre if value else None


def _count(updates: float | None) -> str:
    return "" if updates is None else f"{updates:,.0f}"


def _digits(seconds: float | None, factor: float) -> str:
    return "" if seconds is None else f"{factor * seconds:#.3g}".rstrip(".")
