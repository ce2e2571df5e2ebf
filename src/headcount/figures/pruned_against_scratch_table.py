"""Heads pruned from a trained model against the same heads trained from scratch (voita2019, table 2), as a table.

Rows are the models with gates in all attentions that have such a twin, after the dense model; the paper's own table
stands below. Where as many random heads were removed instead and fine-tuned alike, their BLEU is a further column.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headcount.figures.cells import SIGNIFICANT, bleu, lead, p_value, signed, signed_mean, significant
from headcount.figures.groups import SOFTMAX, Group, corpora, groups, paper_numbers, read
from headcount.figures.style import MINUS, SHORT_LABELS
from headcount.figures.tabular import Cell, Table, write

TYPES = [f"heads_{kind}" for kind in SHORT_LABELS]
HEADS = "heads kept"
HEAD_COLUMNS = [*((HEADS, label) for label in SHORT_LABELS.values()), (HEADS, "all")]
PRUNED, SCRATCH = ("BLEU", "pruned"), ("BLEU", "from scratch")
RANDOM = ("BLEU", "random heads")
AHEAD = ("difference", f"pruned {MINUS} from scratch")
CHANGE, P_VALUE = ("difference", f"pruned {MINUS} dense"), ("difference", "p")
PAPER_NOTE = "Printed there: English-Russian, 6 layers of 8 heads, one run each, its own BLEU; the difference is ours."

NOTHING = Table("pruned and from scratch", [("", "model")], [], ["No pruned model was also trained from scratch."])


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and the paper's numbers, and write the tables to `out` (HTML) and beside it as Markdown."""
    runs = read(tables, "runs")
    found = [group for group in groups(runs) if group.normaliser == SOFTMAX]
    ours = [_ours(corpus, [group for group in found if group.corpus == corpus]) for corpus in corpora(runs)]
    paper = paper_numbers(tables, "voita2019", "table2")
    listed = [table for table in ours if table.rows] or [NOTHING]
    write(listed + _papers(paper), out)


def _ours(corpus: str, found: Sequence[Group]) -> Table:
    """Return the table of one corpus."""
    twins = {
        method: {group.setting: group for group in found if (group.method, group.scope) == (method, "all")}
        for method in ("l0", "scratch", "random")
    }
    paired = [group for setting, group in twins["l0"].items() if setting in twins["scratch"]]
    if not paired:
        return NOTHING
    randoms = any(group.setting in twins["random"] for group in paired)
    columns = [("", "model"), *HEAD_COLUMNS, PRUNED, SCRATCH, *([RANDOM] if randoms else []), AHEAD, CHANGE, P_VALUE]
    compared = [group for group in found if group.method == "baseline" or group in paired or _is_control(group)]
    rows = [
        [
            "dense" if group.method == "baseline" else group.label + (" (control)" if _is_control(group) else ""),
            *_heads(group),
            bleu(group),
            bleu(twins["scratch"].get(group.setting)),
            *([bleu(twins["random"].get(group.setting))] if randoms else []),
            lead(group, twins["scratch"].get(group.setting)),
            _change(group),
            p_value(group),
        ]
        for group in compared
    ]
    return Table(corpus or NOTHING.title, columns, rows, _notes(compared), _flat(columns))


def _is_control(group: Group) -> bool:
    return (group.method, group.scope, group.penalty) == ("l0", "all", 0)


def _flat(columns: Sequence[tuple[str, str]]) -> list[str]:
    """Return headings that need no line above them."""
    names = {HEADS: "{} heads", "BLEU": "BLEU {}"}
    return [names.get(above, "{}").format(heading) for above, heading in columns]


def _papers(paper: pd.DataFrame) -> list[Table]:
    """Return the paper's table, one for each of its corpora; their series are named `<corpus> <column>`."""
    tables = []
    for corpus in dict.fromkeys(str(name).rpartition(" ")[0] for name in paper["series"]):
        series = {name: _series(paper, f"{corpus} {name}") for name in (*SHORT_LABELS, "pruned", "scratch")}
        rows: list[list[str | Cell]] = []
        for total in sorted(series["pruned"], reverse=True):
            pruned, scratch = series["pruned"][total], series["scratch"][total]
            dense = total == max(series["pruned"])
            rows.append(
                [
                    "dense" if dense else "pruned",
                    *(f"{series[kind][total]:.0f}" for kind in SHORT_LABELS),
                    f"{total:.0f}",
                    f"{pruned:.2f}",
                    "" if dense else f"{scratch:.2f}",
                    "" if dense else signed(pruned - scratch),
                ]
            )
        columns = [("", "model"), *HEAD_COLUMNS, PRUNED, SCRATCH, AHEAD]
        tables.append(Table(f"paper, {corpus}", columns, rows, [PAPER_NOTE], _flat(columns)))
    return tables


def _series(paper: pd.DataFrame, name: str) -> dict[float, float]:
    rows = paper[paper["series"] == name]
    return dict(zip(rows["x"].astype(float), rows["y"].astype(float), strict=True))


def _heads(group: Group) -> list[str]:
    """Return the means over the seeds of the heads of each type and of all."""
    values = [group.value(column) for column in (*TYPES, "heads")]
    return ["" if value is None else f"{value.centre:.1f}".removesuffix(".0") for value in values]


def _change(pruned: Group) -> str | Cell:
    """Show the change against the dense model, in bold where the paired bootstrap finds one in every seed."""
    value = pruned.value("bleu_delta")
    if value is None:
        return ""
    return Cell(signed_mean(value), bold=significant(pruned))


def _notes(found: Sequence[Group]) -> list[str]:
    seeds = max((len(group.rows) for group in found), default=1)
    several = (
        f"Mean ± standard deviation over {seeds} seeds; p: seeds in which the paired bootstrap gives p < {SIGNIFICANT}."
    )
    single = "One seed; BLEU with its 95 % bootstrap interval; p of the paired bootstrap, pruned against dense."
    budget = (
        "From scratch: the same heads in every layer, new weights, the dense model's training. A pruned model has that "
        "training and the fine-tuning; the control has both and lost no head."
    )
    return [several if seeds > 1 else single, budget]
