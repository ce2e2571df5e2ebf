from __future__ import annotations

import math

import pandas as pd
import pytest
from hand_tables import run, study

from headcount.claims.sweeps import baselines, gain, of_softmax, sweeps
from headcount.claims.tables import Lacking


def test_the_error_of_a_gain_is_that_of_the_paired_resamples() -> None:
    rows = pd.DataFrame(
        [
            run("baseline"),
            run("l0-all-1", bleu=29.0, bleu_delta_low=-1.4, bleu_delta_high=-0.6),
            run("scratch-all-1", bleu=28.0, bleu_delta_low=-2.3, bleu_delta_high=-1.7),
        ]
    )
    dense, pruned, scratch = (rows.iloc[place] for place in range(3))
    assert gain(pruned, dense).low == pytest.approx(-1.4)
    assert gain(dense, dense).low == gain(dense, dense).high == 0
    assert gain(pruned, scratch).high == pytest.approx(1 + math.hypot(0.4, 0.3))


def test_a_run_and_its_partner_have_the_interval_of_their_own_resamples() -> None:
    own = {"partner": "ticket-18-s1", "partner_low": -0.7, "partner_high": -0.2}
    rows = [run("ticket-18", bleu=29.0), run("reinit-18", bleu=28.5, **own), run("michel-ticket-18", bleu=28.8)]
    ticket, reinit, michel = (row for _, row in pd.DataFrame(rows).iterrows())
    ahead, behind = gain(ticket, reinit), gain(reinit, ticket)
    assert (ahead.value, ahead.low, ahead.high) == (0.5, 0.2, 0.7)
    assert (behind.value, behind.low, behind.high) == (-0.5, -0.7, -0.2)
    apart = gain(michel, reinit)
    assert apart.high - apart.value == pytest.approx(apart.value - apart.low), "no partners: two differences"


def test_without_a_paired_bootstrap_the_two_differences_are_taken() -> None:
    rows = [run("ticket-18", bleu=29.0), run("reinit-18", bleu=28.5)]
    ticket, reinit = (row for _, row in pd.DataFrame(rows).iterrows())
    old = gain(ticket, reinit)
    unscored = pd.DataFrame([{**row, "partner": "ticket-18-s1", "partner_low": None} for row in rows])
    assert old.high - old.value > 0
    assert gain(unscored.iloc[0], unscored.iloc[1]) == old


def test_a_sweep_knows_its_control_and_its_shares() -> None:
    (sweep,) = sweeps(
        study(
            [
                run("baseline"),
                run("l0-encoder-0.1", heads={"encoder": 2}),
                run("l0-encoder-0", bleu=30.5),
                run("l0-encoder-0.01", heads={"encoder": 6}),
            ]
        ),
        "encoder",
    )
    assert sweep.pruned["run"].tolist() == ["l0-encoder-0.01-s1", "l0-encoder-0.1-s1"]
    assert sweep.pruned["share"].tolist() == [0.75, 0.25]
    assert sweep.pruned["share_decoder_self"].tolist() == [1, 1]
    assert sweep.loss(sweep.pruned.iloc[0]).value == 0.5
    assert sweep.nearest(0.3, 0.0, 1.0)["run"] == "l0-encoder-0.1-s1"
    with pytest.raises(Lacking, match="between 40% and 60%"):
        sweep.nearest(0.5, 0.4, 0.6)


def test_shares_of_scope_all_are_of_all_heads() -> None:
    rows = [run("baseline"), run("l0-all-0.1", heads={"encoder": 0, "decoder_self": 4})]
    (sweep,) = sweeps(study(rows), "all")
    assert sweep.pruned["share"].tolist() == [12 / 24]


def test_models_pruned_from_other_normalisers_are_left_out() -> None:
    rows = [run("baseline"), run("l0-all-0.1", parent_normaliser="entmax15")]
    with pytest.raises(Lacking, match="no L0 runs of scope all"):
        sweeps(study(rows), "all")


def test_a_sweep_has_one_setting_of_the_method() -> None:
    rows = [run("l0-all-0.1", variant=""), run("l0-all-0.2", variant="long"), run("l0-all-0.3", variant="longer")]
    (sweep,) = sweeps(study([run("baseline"), *rows]), "all")
    assert sweep.pruned["run"].tolist() == ["l0-all-0.1-s1"]
    runs = pd.DataFrame(rows)
    assert of_softmax(runs, "l0", "all", "long*")["penalty"].tolist() == [0.2, 0.3]
    assert of_softmax(runs, "ticket", "all", "long*").empty


def test_a_variant_may_look_like_a_number_or_not_exist_yet() -> None:
    rows = pd.DataFrame([run("l0-all-0.1"), run("l0-all-0.2")])
    assert len(of_softmax(rows, "l0", "all")) == 2
    read = rows.assign(variant=[float("nan"), 0.0025])
    assert of_softmax(read, "l0", "all")["penalty"].tolist() == [0.1]
    assert of_softmax(read, "l0", "all", "[0-9]*")["penalty"].tolist() == [0.2]


def test_without_a_control_or_a_baseline_there_is_nothing_to_compare_with() -> None:
    (sweep,) = sweeps(study([run("baseline"), run("l0-all-0.1")]), "all")
    with pytest.raises(Lacking, match="no L0 run with λ = 0"):
        sweep.loss(sweep.pruned.iloc[0])
    with pytest.raises(Lacking, match="no dense baseline"):
        baselines(study([run("l0-all-0.1")]))
