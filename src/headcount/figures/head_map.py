"""What each encoder head is: relevance (LRP), confidence and functions side by side (voita2019, figure 1).

One row of panels a corpus, dense softmax model of the first seed. The heads of a layer are sorted by relevance, the
highest on the left, in all panels alike. Relevance is the share of its layer, confidence a mean attention weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from headcount.figures.groups import corpora, read
from headcount.figures.style import (
    PAGE_INCHES,
    ROLE_LABELS,
    ROLES,
    kind_of,
    nothing_to_draw,
    paper_style,
    role_name,
    save,
    shades,
)

MEASURE = "lrp_epsilon"
"""The rule of the paper's appendix A: relevance is split in proportion to the contributions."""

LAYER_INCHES = 0.25
GAP_INCHES = 0.36
TOP_INCHES = 0.24
BOTTOM_INCHES = 0.8
LEFT_INCHES = 0.42
RIGHT_INCHES = 0.06
BETWEEN_INCHES = 0.28
WIDTHS = {"relevance": 1.0, "confidence": 1.0, "functions": 1.75}
"""Panels from left to right and their shares of the width; cells of the widest hold text."""

TITLES = {"relevance": "relevance (LRP)", "confidence": "confidence", "functions": "functions"}

LEVELS = 40
"""Steps of the colour scales: from 50 on, matplotlib draws the bar as a picture of pixels."""

FONT_POINTS = (3.4, 6.5)
EM = 0.66
"""Mean width of a character of a function's name, in font sizes."""

Functions = dict[tuple[int, int], list[tuple[str, str]]]
"""(layer, rank) -> kind and printed name of each function."""


@dataclass(frozen=True)
class Row:
    """The encoder of one corpus, heads sorted: maps are [layer, rank], NaN where nothing was measured."""

    corpus: str
    relevance: npt.NDArray[np.float64]
    confidence: npt.NDArray[np.float64]
    functions: Functions | None
    """None where no role was measured."""

    @property
    def kinds(self) -> set[str]:
        """The kinds of heads that there are."""
        if self.functions is None:
            return set()
        named = {kind_of({kind for kind, _ in names}) for names in self.functions.values()}
        return named | ({"unnamed"} if len(self.functions) < self.confidence.size else set())


def draw(tables: Path, out: Path) -> None:
    """Read `runs`, `relevance`, `observations` and `roles` and write the main corpus to `out` (SVG) and as PDF."""
    draw_corpora(tables, out, slice(0, 1))


def draw_corpora(tables: Path, out: Path, chosen: slice) -> None:
    """Draw the chosen ones of the study's corpora, of which the first is the main one."""
    runs, relevance, measures, roles = (read(tables, name) for name in ("runs", "relevance", "observations", "roles"))
    dense = runs[runs["method"] == "baseline"].sort_values("seed", kind="stable").drop_duplicates("corpus")
    names = dense.set_index("corpus")["run"]
    shown = [corpus for corpus in corpora(runs)[chosen] if corpus in names]
    rows = [_row(corpus, *(t[t["run"] == names[corpus]] for t in (relevance, measures, roles))) for corpus in shown]
    with paper_style():
        save(_figure([row for row in rows if row.confidence.size], titled=len(corpora(runs)) > 1), out)


def _row(corpus: str, relevance: pd.DataFrame, measures: pd.DataFrame, roles: pd.DataFrame) -> Row:
    confidence = _map(measures, "confidence")
    share = _map(relevance, MEASURE)
    if not share.size:
        share = np.full_like(confidence, np.nan)
    ranks = np.argsort(-np.nan_to_num(share), axis=1, kind="stable")  # [layer, rank] -> head
    named = roles[(roles["attention"] == "encoder") & (roles["labels"] == "gold") & (roles["named"] == 1)]
    functions: Functions = {}
    for layer, order in enumerate(ranks):
        for rank, head in enumerate(order):
            found = named[(named["layer"] == layer) & (named["head"] == head)]
            names = dict.fromkeys(zip(found["kind"], map(role_name, found["role"]), strict=True))  # each once, in order
            if names:
                functions[layer, rank] = list(names)
    share, confidence = (np.take_along_axis(values, ranks, axis=1) for values in (share, confidence))
    return Row(corpus, share, confidence, None if roles.empty else functions)


def _map(table: pd.DataFrame, measure: str) -> npt.NDArray[np.float64]:
    """Return a measure of the encoder's heads as [layer, head]."""
    rows = table[(table["attention"] == "encoder") & (table["measure"] == measure)]
    return rows.pivot(index="layer", columns="head", values="value").to_numpy(dtype=float)


def _figure(rows: list[Row], *, titled: bool) -> Figure:
    if not rows:
        return nothing_to_draw("no dense model of such a corpus was observed")
    boxes = _boxes(rows)
    heights = [LAYER_INCHES * len(row.confidence) for row in rows]
    height = TOP_INCHES + sum(heights) + GAP_INCHES * (len(rows) - 1) + BOTTOM_INCHES
    figure = Figure(figsize=(PAGE_INCHES, height))
    scales = {
        "relevance": ScalarMappable(_range([row.relevance for row in rows]), shades("#0B3C7D").resampled(LEVELS)),
        "confidence": ScalarMappable(_range([row.confidence for row in rows]), shades("#7A2F6B").resampled(LEVELS)),
    }
    letters = iter(ascii_lowercase)
    top = height - TOP_INCHES
    for row, inches in zip(rows, heights, strict=True):
        for panel, (left, width) in boxes.items():
            place = (left / PAGE_INCHES, (top - inches) / height, width / PAGE_INCHES, inches / height)
            axes = figure.add_axes(place)
            axes.set_title(f"({next(letters)}) {TITLES[panel]}", weight="bold", pad=4)
            if panel == "functions":
                _functions(axes, row, width / row.confidence.shape[1])
            else:
                _values(axes, getattr(row, panel), scales[panel])
            _ticks(axes, *row.confidence.shape, last=row is rows[-1])
            if panel == next(iter(boxes)):
                axes.set_ylabel(f"{row.corpus}\nlayer" if titled else "layer", labelpad=2)
        top -= inches + GAP_INCHES
    equal = " or ".join(f"{1 / heads:.2g}" for heads in sorted({row.confidence.shape[1] for row in rows}))
    labels = {"relevance": f"share of the layer (equal: {equal})", "confidence": "mean of the largest weight"}
    for panel in set(boxes) & set(labels):
        left, width = boxes[panel]
        bar = figure.add_axes((left / PAGE_INCHES, 0.35 / height, width / PAGE_INCHES, 0.07 / height))
        drawn = figure.colorbar(scales[panel], cax=bar, orientation="horizontal", label=labels[panel])
        if drawn.solids is not None:
            drawn.solids.set_edgecolor("face")  # hides the seams
        bar.xaxis.set_major_locator(MaxNLocator(4))
    if "functions" in boxes:
        left, width = boxes["functions"]
        found = {kind for row in rows for kind in row.kinds}
        patches = [Patch(color=colour, label=ROLE_LABELS[kind]) for kind, colour in ROLES.items() if kind in found]
        middle = ((left + width / 2) / PAGE_INCHES, 0.03 / height)
        figure.legend(handles=patches, loc="lower center", bbox_to_anchor=middle, ncols=3, handlelength=1.2)
    return figure


def _boxes(rows: list[Row]) -> dict[str, tuple[float, float]]:
    """Return left edge and width, in inches, of each panel that has something to show."""
    panels = {"confidence"}
    if any(np.isfinite(row.relevance).any() for row in rows):
        panels.add("relevance")
    if any(row.functions is not None for row in rows):
        panels.add("functions")
    shares = {panel: share for panel, share in WIDTHS.items() if panel in panels}
    free = PAGE_INCHES - LEFT_INCHES - RIGHT_INCHES - BETWEEN_INCHES * (len(shares) - 1)
    left, boxes = LEFT_INCHES, {}
    for panel, share in shares.items():
        width = free * share / sum(shares.values())
        boxes[panel] = (left, width)
        left += width + BETWEEN_INCHES
    return boxes


def _range(maps: list[npt.NDArray[np.float64]]) -> Normalize:
    values = np.concatenate([values.ravel() for values in maps])
    values = values[np.isfinite(values)]
    return Normalize(values.min(), values.max()) if values.size else Normalize(0, 1)


def _values(axes: Axes, values: npt.NDArray[np.float64], scale: ScalarMappable) -> None:
    mesh = axes.pcolormesh(values, cmap=scale.cmap, edgecolors="white", linewidth=0.6)
    mesh.set_norm(scale.norm)


def _functions(axes: Axes, row: Row, cell_inches: float) -> None:
    """Colour each head by the kind of its functions and write their names into it, as large as the cells allow."""
    layers, heads = row.confidence.shape
    functions = row.functions or {}
    axes.set(xlim=(0, heads), ylim=(0, layers))
    longest = max((len(name) for names in functions.values() for _, name in names), default=1)
    size = float(np.clip(0.94 * cell_inches * 72 / (EM * longest), *FONT_POINTS))
    lines = max(1, int(LAYER_INCHES * 72 / (1.12 * size)))
    for layer, rank in np.ndindex(layers, heads):
        found = functions.get((layer, rank), [])
        colour = ROLES[kind_of({kind for kind, _ in found})]
        axes.add_patch(Rectangle((rank, layer), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.6))
        names = [name for _, name in found]
        shown = names if len(names) <= lines else [*names[: lines - 1], "…"]
        middle = (rank + 0.5, layer + 0.48)
        axes.text(*middle, "\n".join(shown), ha="center", va="center", fontsize=size, linespacing=0.95)


def _ticks(axes: Axes, layers: int, heads: int, *, last: bool) -> None:
    every = -(-heads // 8)
    axes.set_yticks(np.arange(layers) + 0.5, [str(layer + 1) for layer in range(layers)])
    axes.set_xticks(np.arange(0, heads, every) + 0.5, [str(rank + 1) for rank in range(0, heads, every)])
    axes.tick_params(length=0, pad=2, labelsize=6)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if last:
        axes.set_xlabel("head, by relevance in its layer", labelpad=1)
