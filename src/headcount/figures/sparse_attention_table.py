"""BLEU of the attention variants by corpus (correia2019, table 1), as a table, with the paper's below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headcount.figures.cells import SIGNIFICANT, bleu, signed, significant
from headcount.figures.groups import Group, corpora, groups, in_order, read
from headcount.figures.style import look
from headcount.figures.tabular import Cell, Table, write
from headcount.figures.variants import IN_PAPER, SOFTMAX, dense, label, numbers, printed

CHANGE = "Δ softmax"
NOTHING = Table("BLEU by attention", [("", "attention")], [], ["No model with sparse attention was scored."])


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and the paper's numbers, and write the tables to `out` (HTML) and beside it as Markdown."""
    runs = dense(read(tables, "runs"))
    write([_ours(runs), *_papers(numbers(tables, "table1"))], out)


def _ours(runs: pd.DataFrame) -> Table:
    """Return a row for each variant, two columns for each corpus that has a sparse one."""
    found = {(group.corpus, group.method): group for group in groups(runs) if group.bleu() is not None}
    shown = [corpus for corpus in corpora(runs) if {method for name, method in found if name == corpus} - {SOFTMAX}]
    if not shown:
        return NOTHING
    methods = in_order({method for corpus, method in found if corpus in shown})
    columns = [("", "attention"), *((corpus, heading) for corpus in shown for heading in ("BLEU", CHANGE))]
    rows = [
        [
            Cell(label(method), dot=look(method).colour),
            *(cell(found.get((corpus, method))) for corpus in shown for cell in (bleu, change)),
        ]
        for method in methods
    ]
    return Table("ours", columns, rows, _notes([found[key] for key in found if key[0] in shown]))


def change(group: Group | None) -> str | Cell:
    """Show the mean change against softmax, with the ends of the seeds' paired intervals that are farthest apart.

    Bold where the paired bootstrap finds a change in every seed.
    """
    value = group.value("bleu_delta") if group else None
    if group is None or value is None:
        return ""
    low, high = (group.value(column) for column in ("bleu_delta_low", "bleu_delta_high"))
    text = signed(value.centre)
    if low is not None and high is not None:
        text += f" [{signed(group.rows['bleu_delta_low'].min())}, {signed(group.rows['bleu_delta_high'].max())}]"
    return Cell(text, bold=significant(group))


def _notes(found: Sequence[Group]) -> list[str]:
    seeds = {group.corpus: len(group.rows) for group in found}
    words = ", ".join(f"{corpus}: {count}" for corpus, count in seeds.items())
    return [
        f"Seeds ({words}): BLEU is mean ± standard deviation; of one seed with its 95 % bootstrap interval."
        if max(seeds.values()) > 1
        else "One seed; BLEU with its 95 % bootstrap interval.",
        f"{CHANGE}: mean over the seeds of the change against softmax of the same seed; in brackets the lowest and "
        f"highest end of their 95 % intervals (paired bootstrap); bold: p < {SIGNIFICANT} in every seed.",
    ]


def _papers(paper: pd.DataFrame) -> list[Table]:
    """Return the paper's table; nothing where its numbers are not at hand."""
    series = {method: printed(paper, name) for method, name in IN_PAPER.items()}
    if not series[SOFTMAX]:
        return []
    pairs = list(series[SOFTMAX])
    sizes = printed(paper, "training set")
    columns = [("", "attention"), *((pair, heading) for pair in pairs for heading in ("BLEU", CHANGE))]
    rows: list[list[str | Cell]] = []
    for method, scores in series.items():
        cells = [
            (f"{scores[pair]:.2f}", "" if method == SOFTMAX else signed(scores[pair] - series[SOFTMAX][pair]))
            for pair in pairs
        ]
        rows.append([Cell(label(method), dot=look(method).colour), *(text for pair in cells for text in pair)])
    trained = ", ".join(f"{pair} {sizes[pair] / 1e6:g} M" for pair in pairs if pair in sizes)
    note = f"6 layers of 8 heads, BLEU of tokenised text, one run each; sentence pairs for training: {trained}."
    return [Table("paper", columns, rows, [note])]
