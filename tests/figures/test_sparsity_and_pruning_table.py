from __future__ import annotations

import pandas as pd
from test_sparsity_and_pruning import HEADS, MEASURES, RUNS

from headcount.figures.groups import groups
from headcount.figures.sparsity_and_pruning import comparisons, pruned
from headcount.figures.sparsity_and_pruning_table import _scores, _survivors, own_change
from headcount.figures.tabular import Cell, Table

MINUS = "\N{MINUS SIGN}"


def texts(table: Table) -> list[list[str]]:
    return [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in table.rows]


def test_each_family_begins_with_its_dense_model() -> None:
    runs = pd.DataFrame(RUNS).assign(bleu_delta_low=float("nan"), bleu_delta_high=float("nan"))
    assert [row[:5] for row in texts(_scores(pruned(runs)))] == [
        ["softmax", "dense", "8", "20.00 [19.00, 22.00]", ""],
        ["softmax", "L0 gates, λ = 0.1", "3", "19.00 [18.00, 21.00]", f"{MINUS}1.00"],
        ["α-entmax", "dense", "8", "20.00 [19.00, 22.00]", ""],
        ["α-entmax", "L0 gates, λ = 0", "8", "19.00 [18.00, 21.00]", f"{MINUS}1.00"],
        ["α-entmax", "L0 gates, λ = 0.1", "5", "19.00 [18.00, 21.00]", f"{MINUS}1.00"],
        ["α-entmax", "L0 gates, λ = 1", "1", "19.00 [18.00, 21.00]", f"{MINUS}1.00"],
    ]


def test_changes_are_taken_seed_by_seed() -> None:
    second = [{**row, "run": f"{row['run'][:-1]}2", "seed": 2, "bleu": row["bleu"] - 3} for row in (RUNS[1], RUNS[4])]
    dense, cut = groups(pd.DataFrame([RUNS[1], RUNS[4], *second]))
    assert own_change(cut, dense) == f"{MINUS}1.00 ± 0.00"
    assert own_change(dense, dense) == ""
    assert own_change(cut, None) == ""


def test_means_of_kept_and_removed_heads_stand_side_by_side() -> None:
    (row,) = texts(_survivors(comparisons(pd.DataFrame(RUNS), HEADS, MEASURES)))
    assert row[:3] == ["α", "α-entmax", "L0 gates, λ = 0.1"]
    assert row[3:9] == ["1.50 ± 0.20", "1.10 ± 0.20", "1.30 ± 0.00", "1.10 ± 0.00", "1.60 ± 0.20", ""]
