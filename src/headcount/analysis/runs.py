"""Run folders → tidy tables, the only thing that figures, reports and people read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from headcount.analysis import TABLES
from headcount.analysis.observed import observed
from headcount.analysis.outcomes import runs_table
from headcount.analysis.relations import relations_table
from headcount.analysis.relevance import relevance
from headcount.analysis.roles import roles_table
from headcount.analysis.rounds import rounds_table
from headcount.analysis.speeds import speeds_table
from headcount.analysis.study import read_runs
from headcount.analysis.surviving import heads_table
from headcount.analysis.trajectories import trajectories
from headcount.files import atomic_write

DIGITS = "%.10g"
"""Significant digits of a table: enough for counts of tokens."""


def collect(study: Path, out: Path, runs: Collection[str]) -> None:
    """Write `<table>.csv` of each table into the folder `out`.

    Args:
        study: folder of the study, with its run folders.
        out: folder of the tables.
        runs: ids of the runs that belong to the study, in the order of the tables' rows.

    Raises:
        UserError: no run is finished, or a file of a run folder cannot be read.

    """
    finished = read_runs(study, runs)
    tables: dict[str, pd.DataFrame] = {
        "runs": runs_table(study, finished),
        "heads": heads_table(finished),
        "rounds": rounds_table(finished),
        "speeds": speeds_table(study, finished),
        **trajectories(finished),
        **observed(finished),
        "roles": roles_table(finished),
        "relations": relations_table(study, finished),
        **relevance(finished),
    }
    for name in TABLES:
        text = tables[name].to_csv(index=False, lineterminator="\n", float_format=DIGITS)
        atomic_write(out / f"{name}.csv", text)
