from __future__ import annotations

import pytest
from hand_tables import study
from ticket_tables import TICKET, dense, small, validated

from headcount.claims.estimate import Estimate
from headcount.claims.tables import Lacking
from headcount.claims.wished_heads import by_seed, dense_of, models, pairs, without

L0 = {"method": "l0", "variant": "*"}


def test_of_several_variants_the_one_of_the_lowest_validation_loss_stands_for_the_arm() -> None:
    rows = [small("l0", heads, bleu, variant=name) for heads in (12, 6) for name, bleu in (("", 29.0), ("long", 28.0))]
    losses = [*validated("l0-12", 1.0, 3.0), *validated("long-l0-12", 5.0, 2.0), *validated("l0-6", 1.0)]
    found = models(study([dense(), *rows], curves=losses), "all", L0)
    assert found["run"].tolist() == ["long-l0-12-s1", "l0-6-s1"], "the last loss counts, and none is worst"
    assert found["removed"].tolist() == [0.5, 0.75]


def test_the_choice_is_one_for_all_seeds() -> None:
    rows = [small("l0", 12, 29.0, seed=seed, variant=name) for seed in (1, 2) for name in ("", "long")]
    losses = [
        {"run": run, "corpus": "en-de", "update": 1, "metric": "valid/nll", "value": loss}
        for run, loss in (("l0-12-s1", 1.0), ("long-l0-12-s1", 2.0), ("l0-12-s2", 9.0), ("long-l0-12-s2", 3.0))
    ]
    found = models(study([dense(), dense(seed=2), *rows], curves=losses), "all", L0)
    assert found["variant"].tolist() == ["long", "long"]


def test_a_variant_that_was_tried_with_fewer_seeds_does_not_stand_for_the_arm() -> None:
    rows = [small("l0", 12, 28.0, seed=seed) for seed in (1, 2)]
    other = small("l0", 12, 30.0, variant="long")
    found = models(study([dense(), dense(seed=2), *rows, other], curves=validated("long-l0-12", 0.1)), "all", L0)
    assert found["variant"].tolist() == ["", ""]


def test_a_pattern_chooses_among_the_variants() -> None:
    rows = [small("ticket", 12, 29.0), small("ticket", 12, 29.5, variant="random")]
    tables = study([dense(), *rows])
    assert models(tables, "all", TICKET)["bleu"].tolist() == [29.0]
    assert models(tables, "all", {"method": "ticket", "variant": "rand*"})["bleu"].tolist() == [29.5]
    with pytest.raises(Lacking, match="no models ticket long of scope all"):
        models(tables, "all", {"method": "ticket", "variant": "long"})


def test_a_model_that_missed_its_wish_or_has_no_score_or_no_wish_is_left_out() -> None:
    rows = [
        small("l0", 12, 29.0, target_heads=14),
        small("l0", 11, 29.0, target_heads=10),
        small("l0", 6, float("nan")),
        small("l0", 9, 29.0, target_heads=float("nan")),
        small("l0", 3, 28.0),
    ]
    assert models(study([dense(), *rows]), "all", L0)["run"].tolist() == ["l0-11-s1", "l0-3-s1"]


def test_the_encoder_scope_counts_encoder_heads() -> None:
    found = models(
        study([dense(), small("ticket", 2, 29.0, scope="encoder"), small("ticket", 6, 29)]), "encoder", TICKET
    )
    assert found["removed"].tolist() == [0.75]


def test_limits_of_the_removed_share_are_included() -> None:
    tables = study([dense(), *(small("ticket", heads, 29.0) for heads in (12, 9, 6))])
    assert without(tables, "all", TICKET, (0.5, 0.625))["target_heads"].tolist() == [12, 9]
    with pytest.raises(Lacking, match="lacks 80% to 90% of the heads"):
        without(tables, "all", TICKET, (0.8, 0.9))


def test_pairs_have_one_seed_and_one_number_of_heads() -> None:
    rows = [small("ticket", heads, 29.0, seed=seed) for heads in (12, 6) for seed in (1, 2)]
    others = [small("reinit", 6, 28.0), small("reinit", 12, 28.5, seed=2), small("reinit", 3, 20.0)]
    reinit = {"method": "reinit", "variant": ""}
    tables = study([dense(), dense(seed=2), *rows, *others])
    found = pairs(tables, "all", TICKET, reinit, (0.5, 1.0))
    assert [(pair.seed, pair.heads, pair.lead.value) for pair in found] == [(1, 6, 1.0), (2, 12, 0.5)]
    with pytest.raises(Lacking, match="no models reinit and ticket of one seed"):
        pairs(tables, "all", reinit, TICKET, (0.8, 1.0))


def test_numbers_of_a_seed_are_averaged_and_a_seed_needs_its_dense_model() -> None:
    tables = study([dense(), *(small("ticket", heads, 29.0) for heads in (12, 6))])
    found = by_seed(tables["runs"], lambda row: Estimate(float(row["heads"]), 0.0, 1.0))
    assert found == {1: Estimate(14.0, 0.0, 1.0)}
    with pytest.raises(Lacking, match="no dense baseline of seed 3"):
        dense_of(tables, 3)
