from __future__ import annotations

from pathlib import Path

import pandas as pd
from finished_runs import lottery, write

from headcount.analysis.outcomes import COLUMNS, runs_table
from headcount.heads import full

SCORE = {"partner": "ticket", "partner_delta": -0.5, "partner_low": -1.0, "partner_high": 0.25, "partner_p": 0.1}


def table(folder: Path) -> pd.DataFrame:
    """Return the table of a lottery whose re-initialised model alone was compared with a partner."""
    runs = lottery(folder)
    for run in runs:
        write(run, "heads.json", {"kept": full(1, 1, 2)})
    write(runs[-2], "score.json", {"bleu": 20.0, "partner": None, **dict.fromkeys([*SCORE][1:])})
    write(runs[-1], "score.json", {"bleu": 19.5, **SCORE})
    return runs_table(folder, runs).set_index("run")


def test_a_run_is_set_beside_its_partner(tmp_path: Path) -> None:
    assert table(tmp_path).loc["reinit", [*SCORE]].to_dict() == SCORE


def test_without_a_partner_the_cells_are_empty(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert found.loc["baseline-s1", [*SCORE]].isna().all()
    written = found.loc[["ticket"], [*SCORE]].to_csv(index=False).splitlines()
    assert written[1] == ",,,,"


def test_the_partner_follows_the_comparison_with_the_baseline() -> None:
    names = list(COLUMNS)
    assert names[names.index("p_value") + 1 :][: len(SCORE)] == [*SCORE]
