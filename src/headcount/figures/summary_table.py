"""Every model in one table, for people: HTML for the report, Markdown for the README."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headcount.figures.groups import Group, Value, groups, read
from headcount.figures.style import look
from headcount.files import atomic_write

SIGNIFICANT = 0.05
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Column:
    """A heading, the heading above it that neighbours may share, and what stands in a group's cell."""

    above: str
    heading: str
    cell: Callable[[Group], str]


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and write the table to `out` (HTML) and beside it as Markdown."""
    runs = read(tables, "runs")
    listed = [group for group in groups(runs) if group.method != "round"]
    notes = _notes(runs)
    atomic_write(out.with_suffix(".html"), _html(listed, notes))
    atomic_write(out.with_suffix(".md"), _markdown(listed, notes))


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


def _delta(group: Group) -> str:
    value = group.value("bleu_delta")
    return "" if value is None else _spread(value, "{:+.2f}".format).replace("± +", "± ").replace("-", MINUS)


def _p_value(group: Group) -> str:
    """Show the paired p-value; over several seeds, in how many of them the difference is significant."""
    values = group.rows["p_value"].dropna()
    if values.empty:
        return ""
    if len(values) > 1:
        return f"{(values < SIGNIFICANT).sum()} of {len(values)}"
    return "< 0.001" if values.iloc[0] < 0.001 else f"{values.iloc[0]:.3f}"


def _setting(group: Group) -> str:
    if group.method == "l0":
        return f"λ = {group.penalty:g}" + (" (control)" if group.penalty == 0 else "")
    return "" if group.setting == group.method else group.setting


def _method(group: Group) -> str:
    return look(group.method).label + (f", {group.scope}" if group.method == "l0" else "")


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
COLUMNS = (
    Column("", "method", _method),
    Column("", "setting", _setting),
    Column(HEADS, "all", _spread_of("heads", _heads)),
    Column(HEADS, "encoder", _spread_of("heads_encoder", _heads)),
    Column(HEADS, "decoder self", _spread_of("heads_decoder_self", _heads)),
    Column(HEADS, "cross", _spread_of("heads_decoder_cross", _heads)),
    Column("test set", "BLEU", _bleu),
    Column("test set", "Δ BLEU", _delta),
    Column("test set", "p", _p_value),
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
        minutes = rounds["train_seconds"].sum() / 60 / max(1, seeds)
        notes.append(f"The {len(rounds) // max(1, seeds)} lottery rounds of a seed took another {minutes:.1f} minutes.")
    return notes


def _markdown(listed: list[Group], notes: list[str]) -> str:
    headings = [f"{column.heading} heads" if column.above == HEADS else column.heading for column in COLUMNS]
    lines = [
        f"| {' | '.join(headings)} |",
        f"| {' | '.join('---' if column.above == '' else '---:' for column in COLUMNS)} |",
        *(f"| {' | '.join(column.cell(group) for column in COLUMNS)} |" for group in listed),
        "",
        *(f"{note}  " for note in notes[:-1]),
        notes[-1],
    ]
    return "\n".join(lines) + "\n"


def _html(listed: list[Group], notes: list[str]) -> str:
    above: list[tuple[str, int]] = []
    for column in COLUMNS:
        if above and above[-1][0] == column.above:
            above[-1] = (column.above, above[-1][1] + 1)
        else:
            above.append((column.above, 1))
    spans = "".join(f'<th colspan="{width}" scope="colgroup">{html.escape(name)}</th>' for name, width in above)
    headings = "".join(f'<th scope="col">{html.escape(column.heading)}</th>' for column in COLUMNS)
    rows = "\n".join(_html_row(group, first=_starts(listed, place)) for place, group in enumerate(listed))
    footer = "".join(f"<p>{html.escape(note)}</p>\n" for note in notes)
    return PAGE.format(style=STYLE, spans=spans, headings=headings, rows=rows, notes=footer)


def _starts(listed: list[Group], place: int) -> bool:
    """Whether a new method begins at this row."""
    return place == 0 or _method(listed[place]) != _method(listed[place - 1])


def _html_row(group: Group, *, first: bool) -> str:
    values = group.rows["p_value"].dropna()
    significant = len(values) > 0 and bool((values < SIGNIFICANT).all())
    cells = []
    for column in COLUMNS:
        text = html.escape(column.cell(group))
        if column.heading == "method":
            dot = f'<i style="background:{look(group.method).colour}"></i>'
            cells.append(f'<th scope="row">{dot}{text}</th>')
        elif column.heading == "Δ BLEU" and significant:
            cells.append(f"<td><b>{text}</b></td>")
        else:
            cells.append(f"<td>{text}</td>")
    mark = ' class="first"' if first else ""
    return f"<tr{mark}>{''.join(cells)}</tr>"


STYLE = """
body { margin: 1rem; background: #fff; color: #1a1a1a; font: 12.5px/1.4 system-ui, sans-serif; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .4rem; text-align: right; white-space: nowrap; font-weight: normal; }
thead th { font-weight: 600; vertical-align: bottom; white-space: normal; }
thead tr:first-child th { text-align: center; color: #555; border-bottom: 1px solid #bbb; }
thead tr:first-child th:first-child { border: 0; }
thead tr:last-child { border-bottom: 2px solid #1a1a1a; }
th:first-child, td:nth-child(2), thead tr:last-child th:nth-child(2) { text-align: left; }
tbody tr.first { border-top: 1px solid #ccc; }
tbody tr:hover { background: #f3f6fa; }
i { display: inline-block; width: .7em; height: .7em; margin-right: .5em; border-radius: 50%; }
p { margin: .4rem 0; color: #555; max-width: 60rem; }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>headcount: all models</title><style>{style}</style></head>
<body>
<div><table>
<thead><tr>{spans}</tr>
<tr>{headings}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{notes}</body>
</html>
"""
