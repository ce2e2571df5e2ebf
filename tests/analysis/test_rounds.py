from __future__ import annotations

from pathlib import Path

import pytest
from finished_runs import X, finished, write

from headcount.analysis.rounds import COLUMNS, rounds_table
from headcount.analysis.study import FinishedRun
from headcount.errors import UserError


def round_of(folder: Path, scores: dict[str, list[list[float]]]) -> FinishedRun:
    """Return a round that had heads 0, 2 and 3 of one encoder layer and removed the middle one."""
    run = finished(folder, "round-2", lottery={"rewind_update": X, "round": 2}, variant="michel")
    kept = {"encoder": [[0, 3]], "decoder_self": [[1]], "decoder_cross": [[]]}
    write(run, "heads.json", {"kept": kept, "removed": [["encoder", 0, 2]], "scores": scores})
    return run


def test_each_head_that_the_round_had_stands_beside_its_score(tmp_path: Path) -> None:
    scores = {"encoder": [[0.5, 0.1, 0.7]], "decoder_self": [[0.9]], "decoder_cross": [[]]}
    table = rounds_table([finished(tmp_path, "baseline-s1"), round_of(tmp_path, scores)])
    assert tuple(table.columns) == COLUMNS
    assert table[["attention", "layer", "head", "score", "removed"]].to_numpy().tolist() == [
        ["encoder", 0, 0, 0.5, 0],
        ["encoder", 0, 2, 0.1, 1],
        ["encoder", 0, 3, 0.7, 0],
        ["decoder_self", 0, 1, 0.9, 0],
    ]
    place = table[["run", "corpus", "seed", "variant", "parent_normaliser", "round"]].drop_duplicates()
    assert place.to_numpy().tolist() == [["round-2", "en-de", 1, "michel", "softmax", 2]]


def test_a_type_that_was_not_ranked_has_no_scores(tmp_path: Path) -> None:
    table = rounds_table([round_of(tmp_path, {"encoder": [[0.5, 0.1, 0.7]]})])
    assert table["score"].isna().tolist() == [False, False, False, True]


def test_scores_of_other_heads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"heads\.json: 2 scores for the 3 heads of encoder layer 0"):
        rounds_table([round_of(tmp_path, {"encoder": [[0.5, 0.1]]})])


def test_without_rounds_the_table_is_empty(tmp_path: Path) -> None:
    assert rounds_table([finished(tmp_path, "baseline-s1")]).empty
