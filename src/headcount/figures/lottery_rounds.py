"""What the rounds of a lottery did, from `rounds.csv`: heads left in each layer, and which rounds belong together."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headcount.figures.groups import SOFTMAX, corpora
from headcount.figures.style import SHORT_LABELS

HEAD = ["attention", "layer", "head"]


def of_softmax(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds in which heads of softmax attention were ranked."""
    return rounds[rounds["parent_normaliser"].isin(["", SOFTMAX])]


def main_rounds(runs: pd.DataFrame, rounds: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the corpora that drew tickets, each with the rows of its rounds of the main settings.

    Attention types that the lottery was not to prune are left out.
    """
    main = of_softmax(rounds)[lambda table: table["variant"] == ""]
    narrow = set(runs.loc[(runs["method"] == "round") & (runs["scope"] == "encoder"), "run"])
    for corpus in corpora(runs):
        of = main[main["corpus"] == corpus]
        of = of[(of["attention"] == "encoder") | ~of["run"].isin(narrow)]
        if not of.empty:
            yield corpus, of


def left(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return how many heads are left after each round: rows (seed, round), columns (attention, layer).

    Round 0 is the dense model.
    """
    kept = rounds.assign(left=1 - rounds["removed"])
    before = rounds[rounds["round"] == 1].assign(left=1, round=0)
    table = pd.concat([before, kept]).pivot_table(
        index=["seed", "round"], columns=["attention", "layer"], values="left", aggfunc="sum", fill_value=0
    )
    order = {kind: place for place, kind in enumerate(SHORT_LABELS)}
    columns = sorted(layers(table), key=lambda column: (order[column[0]], column[1]))
    return table[columns]


def layers(table: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the columns of `left`: attention types and layers."""
    kinds, numbers = (table.columns.get_level_values(name) for name in ("attention", "layer"))
    return [(str(kind), int(layer)) for kind, layer in zip(kinds, numbers, strict=True)]
