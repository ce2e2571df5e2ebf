"""Every model in one table, for people: HTML for the report, Markdown for the README."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headcount.figures.cells import SIGNIFICANT, p_value, significant
from headcount.figures.groups import SOFTMAX, Group, Value, corpora, read, tried
from headcount.figures.style import MINUS, look
from headcount.figures.tabular import Cell, Table, write


@dataclass(frozen=True)
class Column:
    """A heading, the heading above it that neighbours may share, and what stands in a group's cell."""

    above: str
    heading: str
    cell: Callable[[Group], str | Cell]


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and write the table to `out` (HTML) and beside it as Markdown."""
    runs = read(tables, "runs")
    columns = (CORPUS, *COLUMNS) if len(corpora(runs)) > 1 else COLUMNS
    table = Table(
        title="all models",
        columns=[(column.above, column.heading) for column in columns],
        rows=[[column.cell(group) for column in columns] for group in tried(runs) if group.method != "round"],
        notes=_notes(runs),
        flat=[f"{column.heading} heads" if column.above == HEADS else column.heading for column in columns],
        block=len(columns) - len(COLUMNS) + 1,
    )
    write(table, out)


def _spread_of(column: str, form: Callable[[float], str]) -> Callable[[Group], str]:
    """Return a cell with the mean of a column, and its standard deviation where seeds differ."""

    def cell(group: Group) -> str:
        value = group.value(column)
        return "" if value is None else _spread(value, form)

    return cell


def _mean_of(column: str, form: Callable[[float], str]) -> Callable[[Group], str]:
    """Return a cell with the mean of a column."""

    def cell(group: Group) -> str:
        value = group.value(column)
        return "" if value is None else form(value.centre)

    return cell


def _spread(value: Value, form: Callable[[float], str]) -> str:
    spread = f" ± {form(value.high - value.centre)}" if value.high > value.centre else ""
    return form(value.centre) + spread


def _bleu(group: Group) -> str:
    value = group.bleu()
    if value is None:
        return ""
    if value.seeds > 1:
        text = _spread(value, "{:.2f}".format)
    else:
        text = f"{value.centre:.2f} [{value.low:.2f}, {value.high:.2f}]"
    suspect = group.rows["suspect"].fillna(False).astype(bool).any()
    return text + (" (empty output!)" if suspect else "")


def _delta(group: Group) -> str | Cell:
    """Show the difference to the baseline, in bold where the paired bootstrap finds one in every seed."""
    value = group.value("bleu_delta")
    if value is None:
        return ""
    text = _spread(value, "{:+.2f}".format).replace("± +", "± ").replace("-", MINUS)
    return Cell(text, bold=significant(group))


def _setting(group: Group) -> str:
    control = " (control)" if group.method == "l0" and group.penalty == 0 else ""
    named = (group.method, group.variant)  # a dense model has no other setting than its name
    return "" if group.setting in named else group.setting.replace("λ=", "λ = ") + control


def _method(group: Group) -> Cell:
    dense = f" of {look(group.normaliser).label}" if group.normaliser not in (SOFTMAX, group.method) else ""
    scope = f", {group.scope}" if group.method in SCOPED else ""
    style = look(group.method, group.variant)
    return Cell(style.label + dense + scope, dot=style.colour)


def _three_digits(value: float) -> str:
    return f"{value:#.3g}".rstrip(".")


def _count(value: float) -> str:
    """Write a large number with three digits and its unit."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return _three_digits(value / size) + unit
    return f"{value:.0f}"


def _heads(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


HEADS = "heads kept"
SCOPED = ("l0", "scratch", "random", "unnamed", "named")
"""Methods that work on the encoder's heads or on all."""

CORPUS = Column("", "corpus", lambda group: group.corpus)
"""The first column where the study has several corpora."""

COLUMNS = (
    Column("", "method", _method),
    Column("", "setting", _setting),
    Column(HEADS, "all", _spread_of("heads", _heads)),
    Column(HEADS, "encoder", _spread_of("heads_encoder", _heads)),
    Column(HEADS, "decoder self", _spread_of("heads_decoder_self", _heads)),
    Column(HEADS, "cross", _spread_of("heads_decoder_cross", _heads)),
    Column("test set", "BLEU", _bleu),
    Column("test set", "Δ BLEU", _delta),
    Column("test set", "p", p_value),
    Column("test set", "BLEU, no near-duplicates", _spread_of("bleu_without_near_duplicates", "{:.2f}".format)),
    Column("test set", "chrF", _spread_of("chrf", "{:.1f}".format)),
    Column("cost", "parameters", _mean_of("parameters", _count)),
    Column("cost", "ms per sentence", _mean_of("decode_seconds_per_sentence", lambda s: _three_digits(1000 * s))),
    Column("cost", "speed-up", _spread_of("speedup", "{:.2f}×".format)),
    Column("cost", "training, min", _mean_of("train_seconds", lambda s: f"{s / 60:.1f}")),
)


def _notes(runs: pd.DataFrame) -> list[str]:
    seeds = runs["seed"].nunique()
    notes = [
        f"Mean ± standard deviation over {seeds} seeds; p: seeds in which the paired bootstrap gives p < {SIGNIFICANT}."
        if seeds > 1
        else "One seed; BLEU with its 95 % bootstrap interval; p of the paired bootstrap.",
        "Δ BLEU, p and speed-up compare with the dense baseline of the same seed. Training is the run's alone, without "
        "its parents.",
    ]
    removed = runs[runs["identical_outputs"].notna()]
    if not removed.empty:
        notes.append(
            f"Removed heads against the same heads masked: equal translations in "
            f"{removed['identical_outputs'].astype(bool).sum()} of {len(removed)} models, logits differ by at most "
            f"{removed['max_logit_difference'].max():.1g}."
        )
    rounds = runs[runs["method"] == "round"]
    if not rounds.empty:
        listed = tried(rounds)
        chains = sum(len(group.rows) for group in listed if group.setting == "round 1")
        minutes = rounds["train_seconds"].sum() / 60 / chains
        variant = " and variant" if any(group.variant for group in listed) else ""
        notes.append(
            f"The {len(rounds) // chains} lottery rounds of a seed{variant} took another {minutes:.1f} minutes."
        )
    return notes
