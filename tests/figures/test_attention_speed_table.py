from __future__ import annotations

import math

import pandas as pd
from pruned_runs import gated, run
from sparse_study import paper

from headcount.figures.attention_speed_table import RELATIVE, _table, speeds
from headcount.figures.tabular import Cell, Table
from headcount.figures.variants import printed

PAPER = printed(paper("speed"), "training speed")


def timed(name: str, tokens: float, seconds: float, **others: object) -> object:
    method = name.rpartition("-s")[0]
    return run(name, method, tokens_per_second=tokens, decode_seconds_per_sentence=seconds, **others)


RUNS = [
    timed("baseline-s1", 2000, 0.010),
    timed("baseline-s2", 1000, 0.010, seed=2),
    timed("entmax_alpha-s1", 1500, 0.020),
    timed("entmax_alpha-s2", 850, 0.040, seed=2),
]


def rows(table: Table) -> list[list[str]]:
    return [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in table.rows]


def test_speeds_compare_with_softmax_of_the_same_seed() -> None:
    untimed = {"tokens_per_second": math.nan, "decode_seconds_per_sentence": math.nan}
    table = _table(pd.DataFrame([*RUNS, gated("all", 0.1, (1, 1, 1), 10.0, **untimed)]), PAPER)
    assert rows(table) == [
        ["softmax", "1,500", "100 % [100, 100]", "100 %", "10.00", "100 % [100, 100]"],
        ["α-entmax", "1,175", "80 % [75, 85]", "75 %", "30.00", "38 % [25, 50]"],
    ]


def test_a_single_seed_has_no_spread_and_what_was_not_timed_is_empty() -> None:
    assert speeds(pd.Series([0.9])) == "90 %"
    assert speeds(pd.Series([math.nan])) == ""
    alone = [timed("entmax15-s1", 900, math.nan)]
    assert rows(_table(pd.DataFrame(alone), {})) == [["1.5-entmax", "900", "", "", ""]]


def test_corpora_are_named_where_there_are_several() -> None:
    other = [timed("baseline-s1", 500, 0.01, corpus="help"), timed("entmax15-s1", 400, 0.01, corpus="help")]
    table = _table(pd.DataFrame([*RUNS, *other]), PAPER)
    assert [row[0] for row in rows(table)] == ["en-de", "en-de", "help", "help"]
    assert rows(table)[3][3] == "80 %"
    assert ("training", RELATIVE) in table.columns
