from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from headcount.figures.tabular import NOTHING, Cell, Table, write

SIMPLE = Table(
    title="heads & counts",
    columns=[("", "what"), ("ours", "heads"), ("ours", "BLEU"), ("paper", "heads"), ("", "why")],
    rows=[["a<b", "3", "+1.25", "10", "short"], ["c", NOTHING, "", "9", "w" * 60]],
    notes=["first", "second | third"],
)


def written(tables: Table | list[Table], folder: Path) -> tuple[str, str]:
    write(tables, folder / "table.html")
    return tuple((folder / f"table.{suffix}").read_text(encoding="utf-8") for suffix in ("html", "md"))  # type: ignore[return-value]


def test_markdown_aligns_numbers_and_tells_equal_headings_apart(tmp_path: Path) -> None:
    _, markdown = written(SIMPLE, tmp_path)
    assert markdown.splitlines()[:3] == [
        "| what | ours heads | BLEU | paper heads | why |",
        "| --- | ---: | ---: | ---: | --- |",
        "| a<b | 3 | +1.25 | 10 | short |",
    ]
    assert markdown.endswith("\nfirst  \nsecond | third\n")


def test_html_has_the_headings_above_with_their_widths(tmp_path: Path) -> None:
    page = Page()
    page.feed(written(SIMPLE, tmp_path)[0])
    assert page.spans == [("td", "1"), ("th", "2"), ("th", "1"), ("td", "1")]
    assert page.classes == ["text", "", "", "", "text long"] * 2


def test_html_escapes_and_needs_no_other_file(tmp_path: Path) -> None:
    page, _ = written(SIMPLE, tmp_path)
    assert "a&lt;b" in page
    assert "heads &amp; counts" in page
    assert not any(word in page for word in ("http:", "https:", "src=", "<script", "<link"))


def test_a_cell_cannot_break_the_markdown(tmp_path: Path) -> None:
    _, markdown = written(Table("t", [("", "a"), ("", "b")], [["x|y", "two\nlines"]]), tmp_path)
    assert markdown.splitlines()[2] == r"| x\|y | two lines |"


def test_a_cell_can_be_bold_and_have_a_dot(tmp_path: Path) -> None:
    page, markdown = written(Table("t", [("", "a")], [[Cell("1.5", bold=True, dot="#123456")]]), tmp_path)
    assert '<i style="background:#123456"></i><b>1.5</b>' in page
    assert "| 1.5 |" in markdown


def test_several_tables_have_titles(tmp_path: Path) -> None:
    page, markdown = written([SIMPLE, Table("other", [("", "a")], [["1"]])], tmp_path)
    assert page.count("<table>") == page.count("<h2>") == 2
    assert [line for line in markdown.splitlines() if line.startswith("#")] == ["### heads & counts", "### other"]
    assert "<h2>" not in written(SIMPLE, tmp_path)[0]


def test_a_block_starts_where_its_cells_change(tmp_path: Path) -> None:
    rows = [["a", "1"], ["a", "1"], ["a", "2"], ["b", "2"]]
    by_one, by_two = (
        written(Table("t", [("", "x"), ("", "y")], rows, block=block), tmp_path)[0].count('<tr class="first">')
        for block in (1, 2)
    )
    assert (by_one, by_two) == (2, 3)


def test_a_row_of_another_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        write(Table("t", [("", "a")], [["1", "2"]]), tmp_path / "table.html")


class Page(HTMLParser):
    """Collects the cells above the headings, and the classes of the body's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[tuple[str, str | None]] = []
        self.classes: list[str | None] = []
        self._body = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._body |= tag == "tbody"
        if "colspan" in values:
            self.spans.append((tag, values["colspan"]))
        elif self._body and tag in ("th", "td"):
            self.classes.append(values.get("class", ""))
