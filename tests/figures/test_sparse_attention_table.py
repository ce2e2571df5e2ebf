from __future__ import annotations

import pandas as pd
from pruned_runs import gated, run
from sparse_study import paper

from headcount.figures.sparse_attention_table import NOTHING, _ours, _papers, bleu, change
from headcount.figures.tabular import Cell
from headcount.figures.variants import dense

MINUS = "\N{MINUS SIGN}"


def sparse(name: str, bleu_: float, low: float, high: float, p: float, **others: object) -> object:
    method = name.rpartition("-s")[0]
    return run(name, method, bleu=bleu_, bleu_delta_low=low, bleu_delta_high=high, p_value=p, **others)


TWO_SEEDS = [
    run("baseline-s1", "baseline"),
    run("baseline-s2", "baseline", seed=2, bleu=21.0),
    sparse("entmax15-s1", 19.5, -0.9, 0.1, 0.2),
    sparse("entmax15-s2", 18.5, -2.0, -1.0, 0.001, seed=2),
    sparse("entmax_alpha-s1", 21.0, 0.5, 1.5, 0.01),
]


def rows(runs: list[object]) -> list[list[str]]:
    table = _ours(dense(pd.DataFrame(runs)))
    return [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in table.rows]


def test_changes_span_the_paired_intervals_of_all_seeds() -> None:
    assert rows(TWO_SEEDS) == [
        ["softmax", "20.50 ± 0.71", ""],
        ["1.5-entmax", "19.00 ± 0.71", f"{MINUS}1.00 [{MINUS}2.00, +0.10]"],
        ["α-entmax", "21.00 [20.00, 23.00]", "+1.00 [+0.50, +1.50]"],
    ]


def test_a_change_is_bold_where_every_seed_has_one() -> None:
    table = _ours(dense(pd.DataFrame(TWO_SEEDS)))
    changes = [row[2] for row in table.rows]
    assert [isinstance(cell, Cell) and cell.bold for cell in changes] == [False, False, True]


def test_corpora_are_columns_if_they_have_sparse_attention() -> None:
    other = sparse("entmax15-s1", 10.0, -1, 1, 0.5, corpus="help")
    runs = [*TWO_SEEDS, run("x-baseline-s1", "baseline", corpus="x"), other, gated("all", 0.1, (1, 1, 1), 9.0)]
    table = _ours(dense(pd.DataFrame(runs)))
    assert [above for above, _ in table.columns] == ["", "en-de", "en-de", "help", "help"]
    assert [row[3] for row in table.rows] == ["", "10.00 [9.00, 12.00]", ""]
    assert _ours(dense(pd.DataFrame(TWO_SEEDS[:2]))) is NOTHING


def test_the_papers_table_has_its_changes() -> None:
    (table,) = _papers(paper("table1"))
    last = table.rows[-1]
    assert isinstance(last[0], Cell)
    assert (last[0].text, last[1], last[2], last[-2], last[-1]) == ("α-entmax", "29.90", "+0.11", "26.93", "+0.91")
    assert table.rows[1][-1] == f"{MINUS}0.13"
    assert "en-de 4.5 M" in table.notes[0]
    assert _papers(paper("table1").iloc[:0]) == []


def test_what_was_not_scored_is_empty() -> None:
    assert (bleu(None), change(None)) == ("", "")
