"""How far dependents stand from their heads in the trees of the dev sentences (voita2019 figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headcount.analysis.roles import ROLES_FILE
from headcount.analysis.study import FinishedRun, read_json
from headcount.data.trees import offsets, read_trees

COLUMNS = ("corpus", "relation", "offset", "count")
"""Columns of `relations.csv`; `offset` is the dependent's position minus its head's, in words."""

TREES_FILE = "dev.conllu"


def relations_table(study: Path, runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `relations.csv`: the tested relations of every corpus whose heads were named and that has trees.

    The share of a relation's commonest offset is the baseline of its two rows of `roles.csv`.

    Args:
        study: folder of the study; the trees of a corpus lie in `data/<corpus>/`.
        runs: the finished runs.

    """
    rows: list[tuple[str, str, int, int]] = []
    for corpus, relations in _tested(runs).items():
        path = study / "data" / corpus / TREES_FILE
        if path.is_file():
            counts = offsets(read_trees(path))
            rows += [
                (corpus, relation, offset, count)
                for (relation, offset), count in sorted(counts.items())
                if relation in relations
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _tested(runs: Sequence[FinishedRun]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for run in runs:
        named = read_json(run.folder / ROLES_FILE)
        if named is not None:
            found.setdefault(run.corpus, set()).update(named["relations"])
    return found
