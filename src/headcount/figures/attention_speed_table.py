"""What sparse attention costs: speed of training and of decoding against softmax (correia2019), as a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from headcount.figures.groups import corpora, read
from headcount.figures.style import look
from headcount.figures.tabular import Cell, Table, write
from headcount.figures.variants import IN_PAPER, SOFTMAX, dense, label, numbers, printed, variants

TRAINING, DECODING = "training", "decoding"
RELATIVE = "against softmax"
TOKENS, SECONDS = "tokens_per_second", "decode_seconds_per_sentence"


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and the paper's numbers, and write the table to `out` (HTML) and beside it as Markdown."""
    write(_table(read(tables, "runs"), printed(numbers(tables, "speed"), "training speed")), out)


def _table(runs: pd.DataFrame, paper: dict[str, float]) -> Table:
    """Return a row for each corpus and variant."""
    models = dense(runs)
    several = len(corpora(models)) > 1
    columns = [
        *([("", "corpus")] if several else []),
        ("", "attention"),
        *((TRAINING, heading) for heading in ("tokens per second", RELATIVE)),
        *([(TRAINING, "paper")] if paper else []),
        *((DECODING, heading) for heading in ("ms per sentence", RELATIVE)),
    ]
    rows: list[list[str | Cell]] = []
    for corpus in corpora(models):
        of = models[models["corpus"] == corpus]
        softmax = of[of["method"] == SOFTMAX].set_index("seed")
        for method in variants(of):
            found = of[of["method"] == method].set_index("seed")
            theirs = paper.get(IN_PAPER.get(method, ""))
            rows.append(
                [
                    *([corpus] if several else []),
                    Cell(label(method), dot=look(method).colour),
                    _median(found[TOKENS], "{:,.0f}"),
                    speeds(found[TOKENS] / softmax[TOKENS]),
                    *(["" if theirs is None else f"{theirs:.0f} %"] if paper else []),
                    _median(1000 * found[SECONDS], "{:.2f}"),
                    speeds(softmax[SECONDS] / found[SECONDS]),
                ]
            )
    notes = [
        f"Medians over the seeds, {RELATIVE} of the same seed; in brackets the slowest and the fastest seed. 100 %: as "
        "fast as softmax.",
        "Training: tokens over the CPU time of the whole run, or its wall time on a GPU; decoding was timed along the "
        "search of the softmax model. The paper's numbers are those of its models on a GPU.",
    ]
    return Table("speed of the attention", columns, rows, notes, block=1 if several else len(columns))


def _median(values: pd.Series[float], form: str) -> str:
    known = values.dropna()
    return "" if known.empty else form.format(known.median())


def speeds(ratios: pd.Series[float]) -> str:
    """Show the median of speeds relative to softmax, and how far the seeds differ."""
    known = 100 * ratios.dropna()
    if known.empty:
        return ""
    spread = f" [{known.min():.0f}, {known.max():.0f}]" if len(known) > 1 else ""
    return f"{known.median():.0f} %{spread}"
