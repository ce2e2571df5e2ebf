"""Every model that was to keep a number of heads, method by method and setting by setting, as a table.

The settings that `pruning_methods` draws, those of the lowest validation loss, are in bold.
"""

from __future__ import annotations

from pathlib import Path

from headcount.figures.cells import SIGNIFICANT, bleu, lead, p_value
from headcount.figures.equal_heads import WAYS, Contest, contests
from headcount.figures.groups import Group, Value, read
from headcount.figures.style import MINUS, SHORT_LABELS, look
from headcount.figures.tabular import Cell, Table, write

HEADS = "heads kept"
TEST, COST = "test set", "cost"
COLUMNS = [
    ("", "heads asked for"),
    ("", "model"),
    ("", "seeds"),
    *((HEADS, label) for label in SHORT_LABELS.values()),
    ("dev set", "loss"),
    (TEST, "BLEU"),
    (TEST, f"BLEU {MINUS} dense"),
    (TEST, "p"),
    (COST, "updates"),
    (COST, "speed-up"),
]
NOTHING = Table("pruning methods", [("", "model")], [], ["No model was asked to keep a number of heads."])


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `curves.csv` and write the tables to `out` (HTML) and beside it as Markdown."""
    runs, curves = read(tables, "runs"), read(tables, "curves")
    listed = [_table(contest, contest.title(runs)) for contest in contests(runs, curves)]
    write(listed or [NOTHING], out)


def _table(contest: Contest, title: str) -> Table:
    """Return the table of one contest."""
    rows = [_row(contest, group, "all", chosen=False) for group in [contest.dense] if group]
    for size in contest.sizes:
        best = {id(arm.models[size]) for arm in contest.arms(tuple(WAYS)) if size in arm.models and arm.tries > 1}
        rows += [_row(contest, group, f"{size}", chosen=id(group) in best) for group in contest.at(size)]
    rows += [_row(contest, group, "smaller", chosen=False) for group in contest.smaller]
    names = {HEADS: "{} heads", "dev set": "dev {}"}
    flat = [names.get(above, "{}").format(heading) for above, heading in COLUMNS]
    return Table(title or NOTHING.title, COLUMNS, rows, _notes(contest), flat)


def _row(contest: Contest, group: Group, heads: str, *, chosen: bool) -> list[str | Cell]:
    style = look(group.method, group.variant)
    updates, speedup = group.value("updates_total"), group.value("speedup")
    loss = contest.loss(group)
    return [
        heads,
        Cell(style.label + (" (best)" if chosen else ""), bold=chosen, dot=style.colour),
        f"{len(group.rows)}",
        *(_heads(group.value(f"heads_{kind}")) for kind in SHORT_LABELS),
        f"{loss:.3f}" if loss < float("inf") else "",
        bleu(group),
        lead(group, contest.dense) if group is not contest.dense else "",
        p_value(group),
        "" if updates is None else f"{updates.centre:,.0f}",
        "" if speedup is None else _spread(speedup),
    ]


def _heads(value: Value | None) -> str:
    return "" if value is None else f"{value.centre:.1f}".removesuffix(".0")


def _spread(value: Value) -> str:
    return f"{value.centre:.2f}×" + (f" ± {value.high - value.centre:.2f}" if value.seeds > 1 else "")


def _notes(contest: Contest) -> list[str]:
    several = max((len(group.rows) for group in contest.models), default=1) > 1
    return [
        f"Mean ± standard deviation over the seeds; p: seeds in which the paired bootstrap gives p < {SIGNIFICANT}."
        if several
        else "One seed; BLEU with its 95 % bootstrap interval; p of the paired bootstrap against the dense model.",
        "Best: the lowest validation loss at the end among the settings of the method that were tried for that number "
        "of heads; loss in nats per piece. Updates count all that a model builds on.",
    ]
