"""How many heads each layer has left after each lottery round (behnke2020, tables 3 and 4), as a table a corpus."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from headcount.figures.groups import read
from headcount.figures.lottery_rounds import layers, left, main_rounds
from headcount.figures.style import ATTENTION_LABELS
from headcount.figures.tabular import Cell, Table, write

TITLE = "heads left by round"
NOTHING = Table(TITLE, [("", "round")], [], ["No lottery round has ranked heads."])


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `rounds.csv` and write the tables to `out` (HTML) and beside it as Markdown."""
    found = main_rounds(read(tables, "runs"), read(tables, "rounds"))
    write([_table(corpus, left(rounds)) for corpus, rounds in found] or [NOTHING], out)


def _table(corpus: str, table: pd.DataFrame) -> Table:
    """Return the table of one corpus: a row a round, a column a layer."""
    seeds = table.index.get_level_values("seed").nunique()
    mean = table.groupby("round").mean()
    columns = [
        ("", "round"),
        ("", "heads"),
        *((ATTENTION_LABELS[kind], f"{layer + 1}") for kind, layer in layers(mean)),
    ]
    rows: list[list[str | Cell]] = [
        ["dense" if number == 0 else f"{number}", _heads(heads.sum()), *map(_heads, heads)]
        for number, heads in mean.iterrows()
    ]
    over = f"Means over {seeds} seeds." if seeds > 1 else "One seed."
    notes = [f"Layers are counted from the input. {over}"]
    flat = [heading if not above else f"{above.split('-')[0]} {heading}" for above, heading in columns]
    return Table(corpus or TITLE, columns, rows, notes, flat, block=len(columns))


def _heads(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
