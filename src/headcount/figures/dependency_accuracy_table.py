"""How often the best head follows a dependency, and the best fixed offset: the numbers (voita2019, table 1).

One table for each corpus with parses, in percent, with the paper's numbers beside ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headcount.figures.dependency_accuracy import Accuracy, accuracies, printed
from headcount.figures.groups import paper_numbers, read
from headcount.figures.style import MINUS, role_words
from headcount.figures.tabular import NOTHING, Cell, Table, write

OURS = ("best head", "fixed offset", "gain, points", "shuffled labels", "cases", "layer.head")


def draw(tables: Path, out: Path) -> None:
    """Read `roles.csv` and write the tables to `out` (HTML) and beside it as Markdown."""
    found = accuracies(read(tables, "roles"))
    write(_tables(found, printed(paper_numbers(tables, "voita2019", "table1"))), out)


def _tables(found: Sequence[Accuracy], paper: dict[str, pd.DataFrame]) -> list[Table]:
    """Return a table for each corpus; the notes stand below the last."""
    if not found:
        return [Table("best heads on dependencies", [("", "relation")], [], ["No corpus of this study has parses."])]
    corpora = list(dict.fromkeys(accuracy.corpus for accuracy in found))
    notes: list[list[str]] = [[] for _ in corpora[1:]] + [_notes(found, paper)]
    return [
        _table([accuracy for accuracy in found if accuracy.corpus == corpus], paper, below)
        for corpus, below in zip(corpora, notes, strict=True)
    ]


def _table(found: Sequence[Accuracy], paper: dict[str, pd.DataFrame], notes: Sequence[str]) -> Table:
    corpus, heads = found[0].corpus, found[0].heads
    columns = [("", "relation"), ("", "from → to"), *((corpus, heading) for heading in OURS)]
    columns += [(f"paper, {data}", heading) for data in paper for heading in OURS[:2]]
    rows = []
    for accuracy in found:
        row: list[str | Cell] = [accuracy.role.rpartition(":")[0], role_words(accuracy.role), *_ours(accuracy)]
        for values in paper.values():
            known = accuracy.role in values.index
            row += [f"{100 * values[what][accuracy.role]:.3g}" if known else NOTHING for what in ("best", "baseline")]
        rows.append(row)
    return Table(
        f"{corpus}: accuracy of the best of {heads} encoder heads on a dependency, percent", columns, rows, notes
    )


def _ours(accuracy: Accuracy) -> list[str | Cell]:
    best = accuracy.best
    text = f"{100 * best.centre:.1f}"
    if best.seeds > 1:
        text += f" ± {100 * (best.high - best.centre):.1f}"
    else:
        text += f" [{100 * best.low:.1f}, {100 * best.high:.1f}]"
    gain = f"{100 * (best.centre - accuracy.baseline):+.1f}".replace("-", MINUS)
    shuffled = NOTHING if pd.isna(accuracy.shuffled) else f"{100 * accuracy.shuffled:.1f}"
    numbers = [f"{100 * accuracy.baseline:.1f}", gain, shuffled, str(accuracy.cases), ", ".join(accuracy.where)]
    return [Cell(text, bold=accuracy.named), *numbers]


def _notes(found: Sequence[Accuracy], paper: dict[str, pd.DataFrame]) -> list[str]:
    seeds = max(accuracy.best.seeds for accuracy in found)
    spread = f"mean ± standard deviation over {seeds} seeds" if seeds > 1 else "one seed, with its 95 % interval"
    notes = [
        f"Best head: the most accurate of the dense softmax model; {spread}. Bold: it meets the study's criterion for "
        f"a syntactic head{' with every seed' if seeds > 1 else ''}. Layers and heads are counted from 1.",
        "Fixed offset: the share of the relation's most frequent relative position. Shuffled labels: the best head "
        "when the partner is a random other word of the sentence: the best of many heads is high by chance alone. "
        "Cases: words that take part in the relation in this direction.",
    ]
    if paper:
        notes.append("The paper: English to Russian, 6 layers of 8 heads, 2.5 million (WMT) and 6 million pairs.")
    return notes
