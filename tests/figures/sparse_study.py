"""Small invented tables of dense models with softmax and sparse attention, and the paper's numbers of correia2019."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from pruned_runs import run

from headcount.claims.numbers import load, table

RUNS = [run(f"{method}-s1", method) for method in ("baseline", "entmax15", "entmax_alpha")]
"""Three models of one seed."""


def measured(
    method: str, measure: str, values: list[list[float]], attention: str = "encoder", **others: Any
) -> list[dict[str, Any]]:
    """Return rows of `observations.csv` or `links.csv` from values as [layer, head]."""
    place = {"run": f"{method}-s1", "corpus": "en-de", "method": method, "attention": attention, **others}
    return [
        {**place, "layer": layer, "head": head, "measure": measure, "value": value}
        for layer, heads in enumerate(values)
        for head, value in enumerate(heads)
    ]


def paper(item: str) -> pd.DataFrame:
    """Return what correia2019 prints in a table or figure."""
    numbers = table([load(Path(__file__).parents[2] / "workflow" / "claims", "correia2019")])
    rows = numbers[numbers["item"] == item]
    assert not rows.empty
    return rows


def texts(axes: Axes) -> list[str]:
    """Return what stands above and in a panel."""
    return [text.get_text() for text in axes.texts]
