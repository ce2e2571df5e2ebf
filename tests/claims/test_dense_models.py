from __future__ import annotations

import pandas as pd
import pytest
from hand_tables import study
from sparse_tables import by_head, dense

from headcount.claims.dense_models import each, models, of_heads, of_type, weakest
from headcount.claims.estimate import Estimate, within
from headcount.claims.tables import Lacking

RUNS = [dense("baseline"), dense("entmax15"), dense("baseline", seed=2), dense("entmax15", seed=2, bleu=31.0)]


def bleu(*rows: pd.Series) -> Estimate:
    if rows[0]["bleu"] > 30:
        raise Lacking("too good")
    return within(float(rows[0]["bleu"]), 1.0)


def test_models_of_one_seed_come_in_the_order_that_was_asked_for() -> None:
    found = models(study(RUNS), ["entmax15", "baseline"])
    assert [[row["run"] for row in rows] for rows in found] == [
        ["entmax15-s1", "baseline-s1"],
        ["entmax15-s2", "baseline-s2"],
    ]


def test_seeds_and_corpora_without_all_models_are_left_out() -> None:
    other = dense("entmax15", corpus="ja-en", run="ja-en-entmax15-s1")
    assert len(models(study([*RUNS[:3], other]), ["entmax15", "baseline"])) == 1
    with pytest.raises(Lacking, match="no dense models entmax_alpha, baseline of one seed"):
        models(study(RUNS), ["entmax_alpha", "baseline"])


def test_a_seed_that_lacks_a_part_is_left_out_unless_all_do() -> None:
    assert each(study(RUNS), ["entmax15"], bleu) == Estimate(30, 29, 31, 1)
    assert each(study(RUNS), ["baseline"], bleu) == Estimate(30, 29, 31, 2)
    with pytest.raises(Lacking, match="too good"):
        each(study(RUNS[3:]), ["entmax15"], bleu)


def test_heads_of_a_model_and_type() -> None:
    table = pd.DataFrame(
        by_head("entmax15", "density", encoder=[[0.1, 0.2]], decoder_self=[[0.3]])
        + by_head("baseline", "density", encoder=[[1.0]])
        + by_head("entmax15", "entropy", encoder=[[5.0]])
    )
    model = pd.Series({"run": "entmax15-s1"})
    heads = of_heads(table, model, "density")
    assert heads["value"].tolist() == [0.1, 0.2, 0.3]
    assert of_type(heads, "encoder")["value"].tolist() == [0.1, 0.2]
    with pytest.raises(Lacking, match="entmax15-s1 has no alpha"):
        of_heads(table, model, "alpha")
    with pytest.raises(Lacking, match="no head of type decoder_cross"):
        of_type(heads, "decoder_cross")


def test_the_weakest_number_counts() -> None:
    assert weakest([within(2, 0), within(1, 0.5), within(3, 9)]) == within(1, 0.5)
