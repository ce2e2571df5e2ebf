"""How an attention map is drawn: a grid of cells with the pieces of the sentence, weights of exactly 0 in white."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as Outline

from headcount.figures.style import GREY

PIECE_INCHES = 0.105
"""Height of one query."""

LARGEST_FONT = 5.5
LEVELS = 20
"""Steps of the colour scale; cells of one step are one path, which keeps the file small."""

COLOURS = LinearSegmentedColormap.from_list("attention", ["#E3E8EF", "#6FA3CC", "#1F5F9E", "#08203F"], LEVELS + 1)
"""Its pale end still differs from white, which is kept for weights of exactly 0."""

LONGEST = 11
"""Characters of a piece that fit between two rows of maps."""

WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"
"""How sentencepiece marks the piece that begins a word."""


def draw_map(axes: Axes, cells: pd.DataFrame, inches: float, *, sparse: bool, labelled: bool) -> bool:
    """Draw the map of one head in one sentence and return whether it has weights of exactly 0.

    Args:
        axes: where to; as high as its queries times `PIECE_INCHES`.
        cells: the rows of `maps.csv` of this head and sentence.
        inches: width of the map.
        sparse: whether weights can be 0; a softmax weight of 0 in the table was rounded.
        labelled: whether the queries are written on the left.

    """
    weights = cells.pivot(index="query", columns="key", values="weight").to_numpy(dtype=float)  # [query, key]
    queries, keys = weights.shape
    zero = (weights == 0) & sparse
    levels = np.where(zero, -1, np.rint(weights * LEVELS))
    axes.set_facecolor(COLOURS(0))
    for level in np.unique(levels[levels != 0]):
        colour = "white" if level < 0 else COLOURS(int(level))
        axes.add_patch(PathPatch(squares(levels == level), facecolor=colour, edgecolor=colour, linewidth=0.2))
    axes.set_xlim(0, keys)
    axes.set_ylim(queries, 0)
    font = min(LARGEST_FONT, 72 * 0.9 * inches / keys)
    axes.set_xticks(np.arange(keys) + 0.5, pieces(cells, "key"), rotation=90, fontsize=font)
    axes.set_yticks(np.arange(queries) + 0.5, pieces(cells, "query") if labelled else [""] * queries, fontsize=font)
    axes.tick_params(length=0, pad=1.5)
    axes.spines[:].set(visible=True, color=GREY, linewidth=0.4)
    return bool(zero.any())


def squares(cells: npt.NDArray[np.bool_]) -> Outline:
    """Return one outline of all the given cells [query, key]."""
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    codes = [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY]
    corners = [square + np.array([key, query]) for query, key in np.argwhere(cells)]
    return Outline(np.concatenate(corners), codes * len(corners))


def pieces(cells: pd.DataFrame, side: str) -> list[str]:
    """Return the pieces of a sentence without the mark of a word's start; those inside a word begin with a hyphen."""
    texts = cells.drop_duplicates(side).sort_values(side)[f"{side}_token"]
    words = [f"-{text}" if text[:1].isalnum() else text.removeprefix(WORD_START) for text in texts]
    return [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in words]


def write_above(axes: Axes, text: str, *, rise: float, shift: float = 0, **looks: Any) -> None:
    """Write above a map, `rise` and `shift` in points from its upper left corner."""
    axes.annotate(text, (0, 1), (shift, rise), xycoords="axes fraction", textcoords="offset points", **looks)


def scale(figure: Figure, left_inches: float, *, zeros: bool) -> None:
    """Draw the colours of the weights at the lower edge of a figure, and white if there is any weight of 0."""
    width, height = figure.get_size_inches()
    bar = figure.add_axes((left_inches / width, 0.3 / height, 1.6 / width, 0.08 / height))
    figure.colorbar(ScalarMappable(cmap=COLOURS), cax=bar, orientation="horizontal", ticks=[0, 0.5, 1])
    bar.set_xlabel("attention weight", labelpad=1)
    if zeros:
        white = Patch(facecolor="white", edgecolor=GREY, linewidth=0.4, label="exactly 0")
        place = ((left_inches + 1.8) / width, 0.2 / height)
        figure.legend(handles=[white], loc="lower left", bbox_to_anchor=place, handlelength=1.2)
