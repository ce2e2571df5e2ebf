"""Tables for people: one description, written as a self-contained HTML page and as Markdown.

A table has columns with a heading and a heading above it that neighbours may share. A column whose cells are numbers is
set to the right, any other to the left; the first column names the rows.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headcount.figures.style import MINUS
from headcount.files import atomic_write

NOTHING = "\N{EN DASH}"
"""Stands in a cell whose number does not exist."""

NUMBER = re.compile(rf"[<>≈≤≥]?\s*[+±{MINUS}-]?\s*\d")
"""How the text of a numeric cell begins."""

LONG = 40
"""Characters from which the cells of a column of text are wrapped."""


@dataclass(frozen=True)
class Cell:
    """A cell with a look: bold, or with a dot of a colour before its text; Markdown shows the text alone."""

    text: str
    bold: bool = False
    dot: str = ""


@dataclass(frozen=True)
class Table:
    """What a table shows.

    Attributes:
        title: a line above the table where several tables stand in one file, and the title of the HTML page.
        columns: (heading above, heading); equal neighbours above are joined, empty means none.
        rows: one cell for each column.
        notes: paragraphs below the table.
        flat: headings for Markdown, which has no second line of headings; empty: a heading alone where it is the only
            one of its name, else after the heading above it.
        block: a line is drawn above a row whose first `block` cells differ from those of the row before.

    """

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str | Cell]]
    notes: Sequence[str] = ()
    flat: Sequence[str] = ()
    block: int = 1


def write(tables: Table | Sequence[Table], out: Path) -> None:
    """Write one table, or several below each other, to `out` as HTML and beside it as Markdown.

    Raises:
        ValueError: a row has not one cell for each column.

    """
    listed = [tables] if isinstance(tables, Table) else list(tables)
    for table in listed:
        for row in table.rows:
            if len(row) != len(table.columns):
                raise ValueError(f"{table.title}: {len(row)} cells for {len(table.columns)} columns: {_texts(row)}")
    titled = len(listed) > 1
    body = "".join(_html(table, titled=titled) for table in listed)
    page = PAGE.format(title=html.escape(listed[0].title), style=STYLE, body=body)
    atomic_write(out.with_suffix(".html"), page)
    atomic_write(out.with_suffix(".md"), "\n".join(_markdown(table, titled=titled) for table in listed))


def _texts(row: Sequence[str | Cell]) -> list[str]:
    return [cell.text if isinstance(cell, Cell) else cell for cell in row]


def _numeric(table: Table) -> list[bool]:
    """Return for each column whether it is set to the right: every cell begins like a number or is empty."""
    columns = [[text for text in column if text not in ("", NOTHING)] for column in _by_column(table)]
    return [place > 0 and bool(texts) and all(map(NUMBER.match, texts)) for place, texts in enumerate(columns)]


def _by_column(table: Table) -> list[list[str]]:
    return [[_texts(row)[place] for row in table.rows] for place in range(len(table.columns))]


def _flat_headings(table: Table) -> Sequence[str]:
    headings = [heading for _, heading in table.columns]
    return table.flat or [
        heading if headings.count(heading) == 1 or not above else f"{above} {heading}"
        for above, heading in table.columns
    ]


def _markdown(table: Table, *, titled: bool) -> str:
    rows = [_flat_headings(table), *map(_texts, table.rows)]
    lines = ["| " + " | ".join(map(_one_line, row)) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join("---:" if numeric else "---" for numeric in _numeric(table)) + " |")
    notes = [f"{note}  " for note in table.notes[:-1]] + list(table.notes[-1:])  # two spaces break the line
    title = [f"### {table.title}", ""] if titled else []
    return "\n".join([*title, *lines, *([""] if notes else []), *notes]) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split("\n")).replace("|", r"\|")


def _html(table: Table, *, titled: bool) -> str:
    looks = [_look(numeric, texts) for numeric, texts in zip(_numeric(table), _by_column(table), strict=True)]
    headings = "".join(
        f'<th scope="col"{look}>{html.escape(heading)}</th>'
        for look, (_, heading) in zip(looks, table.columns, strict=True)
    )
    before: list[str] = []
    rows = []
    for row in table.rows:
        block = _texts(row)[: table.block]
        rows.append(_html_row(row, looks, first=block != before))
        before = block
    return TABLE.format(
        title=f"<h2>{html.escape(table.title)}</h2>\n" if titled else "",
        above=_spans(table),
        headings=headings,
        rows="\n".join(rows),
        notes="".join(f"<p>{html.escape(note)}</p>\n" for note in table.notes),
    )


def _look(numeric: bool, texts: list[str]) -> str:
    if numeric:
        return ""
    return ' class="text long"' if max(map(len, texts), default=0) > LONG else ' class="text"'


def _spans(table: Table) -> str:
    """Return the line of headings above the headings; nothing when no column has one."""
    joined = [(above, len(list(run))) for above, run in itertools.groupby(above for above, _ in table.columns)]
    if not any(above for above, _ in joined):
        return ""
    cells = "".join(
        f'<th colspan="{width}" scope="colgroup">{html.escape(above)}</th>' if above else f'<td colspan="{width}"></td>'
        for above, width in joined
    )
    return f'<tr class="above">{cells}</tr>\n'


def _html_row(row: Sequence[str | Cell], looks: Sequence[str], *, first: bool) -> str:
    cells = []
    for place, (cell, look) in enumerate(zip(row, looks, strict=True)):
        styled = cell if isinstance(cell, Cell) else Cell(cell)
        dot = f'<i style="background:{styled.dot}"></i>' if styled.dot else ""
        text = html.escape(styled.text)
        text = dot + (f"<b>{text}</b>" if styled.bold else text)
        cells.append(f'<th scope="row"{look}>{text}</th>' if place == 0 else f"<td{look}>{text}</td>")
    mark = ' class="first"' if first else ""
    return f"<tr{mark}>{''.join(cells)}</tr>"


STYLE = """
body { margin: 1rem; background: #fff; color: #1a1a1a; font: 12.5px/1.4 system-ui, sans-serif; }
h2 { font-size: 14px; margin: 1.2rem 0 .4rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .4rem; text-align: right; vertical-align: top; white-space: nowrap; font-weight: normal; }
thead th { font-weight: 600; vertical-align: bottom; white-space: normal; }
thead tr.above th { text-align: center; color: #555; border-bottom: 1px solid #bbb; }
thead tr:last-child { border-bottom: 2px solid #1a1a1a; }
.text { text-align: left; }
.long { white-space: normal; min-width: 12rem; max-width: 30rem; }
tbody tr.first { border-top: 1px solid #ccc; }
tbody tr:hover { background: #f3f6fa; }
i { display: inline-block; width: .7em; height: .7em; margin-right: .5em; border-radius: 50%; }
p { margin: .4rem 0; color: #555; max-width: 60rem; }
"""

TABLE = """{title}<div><table>
<thead>{above}<tr>{headings}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{notes}"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>headcount: {title}</title><style>{style}</style></head>
<body>
{body}</body>
</html>
"""
