from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from headcount.figures.maps import COLOURS, LEVELS, draw_map, pieces, squares

PIECES = ["\N{LOWER ONE EIGHTH BLOCK}walk", "ing", "."]


def cells(weights: npt.NDArray[np.float64]) -> pd.DataFrame:
    rows = [(query, key, PIECES[query], PIECES[key], weights[query, key]) for query, key in product(range(3), range(3))]
    return pd.DataFrame(rows, columns=["query", "key", "query_token", "key_token", "weight"])


def white(weights: npt.NDArray[np.float64], *, sparse: bool) -> tuple[bool, int]:
    """Return what `draw_map` says of zeros, and how many cells are white."""
    axes = Figure().subplots()
    said = draw_map(axes, cells(weights), 1.0, sparse=sparse, labelled=True)
    patches = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    found = [patch for patch in patches if patch.get_facecolor() == (1, 1, 1, 1)]
    return said, sum(len(patch.get_path().vertices) // 5 for patch in found)


def test_zeros_are_white_where_weights_can_be_0() -> None:
    weights = np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25], [0.2, 0.3, 0.5]])
    assert white(weights, sparse=True) == (True, 2)
    assert white(weights, sparse=False) == (False, 0)
    assert white(np.full((3, 3), 1 / 3), sparse=True) == (False, 0)
    assert not any(COLOURS(level)[:3] == (1, 1, 1) for level in range(LEVELS + 1))


def test_queries_go_down_and_keys_to_the_right() -> None:
    axes = Figure().subplots()
    draw_map(axes, cells(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])), 1.0, sparse=False, labelled=True)
    (dark,) = axes.patches
    assert isinstance(dark, PathPatch)
    assert dark.get_path().contains_point((1.5, 0.5))
    assert axes.get_ylim() == (3, 0)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["walk", "-ing", "."]


def test_pieces_read_like_words() -> None:
    table = cells(np.eye(3))
    assert pieces(table, "query") == ["walk", "-ing", "."]
    assert pieces(table.replace("ing", "internationalisation"), "key") == ["walk", "-internati…", "."]


def test_squares_cover_their_cells() -> None:
    outline = squares(np.array([[False, True], [True, False]]))
    inside = outline.contains_points([(1.5, 0.5), (0.5, 1.5), (0.5, 0.5), (1.5, 1.5)])
    assert inside.tolist() == [True, True, False, False]
