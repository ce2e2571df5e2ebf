"""The identified paragraphs of an HTML page: their plain text, without markup, pictures and program code."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_IDENTIFIED = re.compile(r"(par|hd)_")
_CODE = re.compile(r"code|smathcode")
"""Classes of paragraphs that hold program text; its words are no language."""
_VOID = re.compile(r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
_DEFAULT = "default"


def paragraphs(page: str) -> dict[str, list[str]]:
    """Return the texts of each paragraph id, in the order of the page.

    An id occurs more than once where a page embeds a section twice. Entities are decoded and white space is single
    spaces. Where the text depends on the reader's system, the default is taken, else the first variant.
    """
    parser = _Parser()
    parser.feed(page)
    parser.close()
    return parser.found


class _Parser(HTMLParser):
    """Follows the open elements; a paragraph ends with the element that began it, whatever was left open inside."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: dict[str, list[str]] = {}
        self._open: list[str] = []
        self._paragraph = ("", 0)  # id, number of elements open around it
        self._pieces: list[str] = []
        self._switches: list[tuple[int, list[tuple[bool, str]]]] = []  # elements open around it, variants
        self._outside: list[list[str]] = []  # pieces around each open switch

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; a paragraph when it has such an id, a variant when it is a child of a switch."""
        if _VOID.fullmatch(tag):
            self._pieces.append(" " if tag == "br" else "")
            return
        values = {key: value or "" for key, value in attrs}
        depth = len(self._open)
        self._open.append(tag)
        if not self._paragraph[0]:
            if _IDENTIFIED.match(values.get("id", "")) and not _CODE.match(values.get("class", "")):
                self._paragraph, self._pieces = (values["id"], depth), []
        elif values.get("class") == "switchinline":
            self._switches.append((depth, []))
            self._outside.append(self._pieces)
            self._pieces = []
        elif self._switches and depth == self._switches[-1][0] + 1:
            self._pieces = []
            self._switches[-1][1].append((values.get("id", "").startswith(_DEFAULT), ""))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element of that name and everything inside it."""
        if tag in self._open:
            while self._close() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self._pieces.append(data)

    def close(self) -> None:
        """Close what the page left open."""
        super().close()
        while self._open:
            self._close()

    def _close(self) -> str:
        tag = self._open.pop()
        depth = len(self._open)
        if self._switches and depth == self._switches[-1][0] + 1:
            variants = self._switches[-1][1]
            variants[-1] = (variants[-1][0], "".join(self._pieces))
        elif self._switches and depth == self._switches[-1][0]:
            _, variants = self._switches.pop()
            chosen = [text for default, text in variants if default] or [text for _, text in variants]
            self._pieces = [*self._outside.pop(), *chosen[:1]]
        elif self._paragraph[0] and depth == self._paragraph[1]:
            if text := " ".join("".join(self._pieces).split()):
                self.found.setdefault(self._paragraph[0], []).append(text)
            self._paragraph = ("", 0)
        return tag
