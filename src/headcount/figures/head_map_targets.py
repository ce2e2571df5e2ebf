"""What each encoder head is, for every corpus but the main one, say other target languages (voita2019, figure 2)."""

from __future__ import annotations

from pathlib import Path

from headcount.figures.head_map import draw_corpora


def draw(tables: Path, out: Path) -> None:
    """Read `runs`, `relevance`, `observations` and `roles` and write the figure to `out` (SVG) and as PDF."""
    draw_corpora(tables, out, slice(1, None))
