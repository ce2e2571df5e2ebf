"""The table of runs: complete, ordered, and each run's settings change exactly with what concerns it."""

from __future__ import annotations

import json

import pytest

from headcount.config import Study, parse
from headcount.estimate import cpu_seconds, updates
from headcount.plan import data_settings, runs


def test_parents_stand_before_their_children_and_ids_are_unique():
    plan = runs(parse({"seeds": [1, 2]}))
    seen: set[str] = set()
    for name, run in plan.items():
        assert name == run.run
        assert set(run.parents) <= seen
        seen.add(name)
    assert {run.seed for run in plan.values()} == {1, 2}


def test_the_control_without_a_penalty_is_always_trained():
    plan = runs(parse({"l0": {"penalties_encoder": [0.02], "penalties_all": [0.3]}}))
    assert {"l0-encoder-0-s1", "l0-all-0-s1"} <= set(plan)


def test_tickets_hang_on_the_round_that_leaves_their_heads():
    plan = runs(Study())
    assert plan["ticket-36-s1"].parents == ("baseline-s1", "round-04-s1")
    assert plan["reinit-18-s1"].parents == ("round-06-s1",)


def changed(override: dict) -> set[str]:
    before, after = runs(Study()), runs(parse(override))
    assert before.keys() >= after.keys() or override
    return {name for name in after if name not in before or before[name].canonical != after[name].canonical}


@pytest.mark.parametrize(
    ("override", "stages"),
    [
        ({"l0": {"penalties_encoder": [0.0, 0.004]}}, {"l0-encoder-0.004-s1"}),
        ({"lottery": {"tickets": [36]}}, set()),
        ({"lottery": {"tickets": [36, 18, 9]}}, {"round-07-s1", "ticket-9-s1", "reinit-9-s1"}),
        ({"evaluation": {"beam": 1}}, set()),
        ({"tracking": {"sync_seconds": 5}}, set()),
        ({"data": {"dev_sentences": 400}}, set()),
        ({"seeds": [1, 2], "methods": ["l0", "lottery", "entmax"]}, set(runs(parse({"seeds": [2]})))),
    ],
)
def test_a_changed_setting_changes_the_runs_that_it_concerns_and_no_others(override: dict, stages: set[str]):
    assert changed(override) == stages


def test_settings_are_canonical_json():
    for run in runs(Study()).values():
        assert json.loads(run.canonical) == run.settings
        assert run.canonical == json.dumps(
            json.loads(run.canonical), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )


def test_data_settings_hold_the_chosen_source_only():
    assert data_settings(parse({"data": {"synthetic": {"pairs": 7}}})) == data_settings(Study())
    assert data_settings(parse({"data": {"tatoeba": {"words": 7}}})) != data_settings(Study())


def test_a_ticket_pays_only_what_follows_its_rewind_point():
    study = Study()
    plan = runs(study)
    assert updates(plan["ticket-36-s1"]) == study.training.updates - study.lottery.rewind_update
    assert updates(plan["reinit-36-s1"]) == study.training.updates


def test_estimated_cost_grows_with_the_model():
    run, study = runs(Study())["baseline-s1"], Study()
    small, large = study.model.model_dump(), {**study.model.model_dump(), "width": 256}
    assert 0 < cpu_seconds(run, 4000, small) < cpu_seconds(run, 4000, large) < cpu_seconds(run, 8000, large)


VOITA = {
    "methods": ["l0"],
    "analyses": ["roles"],
    "roles": {"removal": True},
    "l0": {
        "penalties_encoder": [0.01],
        "penalties_all": [0.02],
        "target_heads_encoder": [6],
        "scratch_all": [0.02],
        "random_encoder": [0.01],
    },
}


def test_controls_hang_on_the_run_whose_heads_they_copy_or_count():
    plan = runs(parse(VOITA))
    assert plan["scratch-all-0.02-s1"].parents == ("l0-all-0.02-s1",)
    assert plan["random-encoder-0.01-s1"].parents == ("baseline-s1", "l0-encoder-0.01-s1")
    assert plan["unnamed-encoder-s1"].parents == plan["named-encoder-s1"].parents == ("baseline-s1",)
    assert plan["l0-encoder-6h-s1"].settings["l0"]["target_heads"] == 6
    assert updates(plan["random-encoder-0.01-s1"]) == Study().l0.updates


def test_a_further_corpus_has_runs_of_its_own_and_leaves_the_others_alone():
    alone = runs(parse({"methods": ["l0"]}))
    other = {"data": {"target_language": "fr"}, "methods": [], "training": {"updates": 900}}
    plan = runs(parse({"methods": ["l0"], "corpora": {"en-fr": other}}))
    assert {name: plan[name].canonical for name in alone} == {name: run.canonical for name, run in alone.items()}
    assert set(plan) - set(alone) == {"en-fr-baseline-s1"}
    assert plan["en-fr-baseline-s1"].corpus == "en-fr"
    assert plan["en-fr-baseline-s1"].settings["training"]["updates"] == 900


def test_a_sparse_model_is_pruned_under_its_own_name():
    study = parse({"methods": ["entmax", "l0", "lottery"], "l0": {"normalisers": ["entmax15"]},
                   "lottery": {"normalisers": ["softmax", "entmax15"]}})  # fmt: skip
    plan = runs(study)
    assert plan["entmax15-l0-all-0-s1"].parents == ("entmax15-s1",)
    assert plan["entmax15-ticket-36-s1"].parents == ("entmax15-s1", "entmax15-round-04-s1")
    assert plan["entmax15-reinit-36-s1"].settings["model"]["normalisers"]["encoder"] == "entmax15"
    assert plan["entmax15-s1"].settings["keep_update"] == study.lottery.rewind_update
    assert plan["entmax_alpha-s1"].settings["keep_update"] == 0


def test_a_mixed_model_names_the_normaliser_of_each_attention_type():
    mixed = {"cross15": {"decoder_cross": "entmax15"}}
    plan = runs(parse({"entmax": {"mixed": mixed}}))
    expected = {"encoder": "softmax", "decoder_self": "softmax", "decoder_cross": "entmax15"}
    assert plan["cross15-s1"].settings["model"]["normalisers"] == expected
