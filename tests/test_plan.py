"""The table of runs: complete, ordered, and each run's settings change exactly with what concerns it."""

from __future__ import annotations

import json

import pytest

from headcount.config import Study, parse
from headcount.errors import UserError
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
        ({"checkpoints": {"every_updates": 7, "every_seconds": 60}}, set()),
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
    for name in ("baseline-s1", "l0-all-0-s1"):  # a run of its own model, and one of its parent's
        small, large = (parse({"model": {"width": width}}) for width in (128, 256))
        seconds = [cpu_seconds(runs(study)[name], 4000, study.model.model_dump()) for study in (small, large)]
        assert 0 < seconds[0] < seconds[1] < cpu_seconds(runs(large)[name], 8000, large.model.model_dump())


def test_removed_heads_make_a_run_cheaper_and_closed_ones_do_not():
    study = parse(BEHNKE)
    plan, model = runs(study), study.model.model_dump()

    def of_update(name: str) -> float:
        return cpu_seconds(plan[name], 4000, model) / updates(plan[name])

    assert of_update("ticket-18-s1") < of_update("ticket-36-s1") < of_update("baseline-s1")
    assert of_update("front-ticket-6-s1") < of_update("baseline-s1")
    assert of_update("round-03-s1") < of_update("round-02-s1") < of_update("round-01-s1")
    for name in ("round-01-s1", "subset-gumbel-9-s1", "l0-all-18h-s1"):
        assert of_update(name) == pytest.approx(of_update("baseline-s1"))


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
    assert plan["entmax15-s1"].settings["keep_updates"] == [study.lottery.rewind_update]
    assert plan["entmax_alpha-s1"].settings["keep_updates"] == []


BEHNKE = {
    "methods": ["lottery", "l0", "ranked", "subset", "smaller"],
    "training": {"updates": 1000},
    "smaller": {"narrow": {"feed_forward": 64}},
    "l0": {"scopes": ["all"], "penalties_all": [0.02], "target_heads_all": [18], "variants": {"long": {"updates": 77}}},
    "lottery": {
        "rewind_update": 100,
        "round_updates": 50,
        "heads_per_round": 18,
        "tickets": [36, 18],
        "controls": {"same_counts": "all", "reinit": [36], "reinit_longer": [18]},
        "longer_learning_rates": [0.001, 0.003],
        "variants": {
            "random": {"scorer": "random", "round_updates": 0, "tickets": [18]},
            "from_start": {"rewind_update": 0, "controls": {"reinit": "all"}},
            "early": {"rewind_update": 40, "tickets": [36]},
            "front": {"scope": "encoder", "tickets": [6]},
        },
    },
    "ranked": {"scorers": ["michel"], "ways": ["one_shot", "rate_rewound"], "heads": [9], "updates": 33},
    "subset": {"estimators": ["gumbel"], "heads": [9, 18]},
}


def test_every_lottery_has_its_rounds_its_tickets_and_only_the_controls_that_it_names():
    plan = runs(parse(BEHNKE))
    tickets = {name[:-3]: run for name, run in plan.items() if run.stage in ("train_ticket", "train_reinit")}
    assert list(tickets) == [
        *("ticket-36", "same_counts-36", "reinit-36", "ticket-18", "same_counts-18"),
        *("reinit_longer-18-0.001", "reinit_longer-18-0.003", "random-ticket-18"),
        *("from_start-ticket-36", "from_start-reinit-36", "from_start-ticket-18", "from_start-reinit-18"),
        *("early-ticket-36", "front-ticket-6"),
    ]
    assert plan["baseline-s1"].settings["keep_updates"] == [40, 100]
    assert tickets["random-ticket-18"].parents == ("baseline-s1", "random-round-03-s1")
    assert tickets["same_counts-18"].settings["removal"] == {"select": "same_counts"}
    assert {run.settings["target_heads"] for name, run in tickets.items() if "18" in name} == {18}
    longer = tickets["reinit_longer-18-0.003"].settings["training"]
    assert (longer["updates"], longer["learning_rate"]) == (1000 + 3 * 50, 0.003)
    assert tickets["front-ticket-6"].setting == "6 of 24 encoder heads"
    assert [run.settings.get("variant", "") for run in tickets.values()][-3:] == ["from_start", "early", "front"]


def test_costs_are_those_of_each_way():
    plan = runs(parse(BEHNKE))
    expected = {
        "random-round-01-s1": 0,
        "round-01-s1": 50,
        "ticket-18-s1": 900,
        "from_start-ticket-18-s1": 1000,
        "reinit_longer-18-0.001-s1": 1150,
        "ranked-michel-one_shot-9-s1": 33,
        "ranked-michel-rate_rewound-9-s1": 900,
        "long-l0-all-18h-s1": 77,
        "narrow-s1": 1000,
    }
    assert {name: updates(plan[name]) for name in expected} == expected


def test_variants_of_l0_repeat_only_the_wishes():
    names = [name for name, run in runs(parse(BEHNKE)).items() if run.method == "l0"]
    assert names == ["l0-all-0-s1", "l0-all-0.02-s1", "l0-all-18h-s1", "long-l0-all-18h-s1"]


def test_a_smaller_model_differs_from_the_baseline_in_its_own_keys():
    plan = runs(parse(BEHNKE))
    small, large = plan["narrow-s1"].settings["model"], plan["baseline-s1"].settings["model"]
    assert {key for key in large if small[key] != large[key]} == {"feed_forward"}
    assert not plan["narrow-s1"].has_all_heads


def test_two_runs_of_one_name_are_refused():
    corpora = {"random": {"data": {"target_language": "fr"}, "methods": ["lottery"], "lottery": {"variants": {}}}}
    study = parse({**BEHNKE, "corpora": corpora})
    with pytest.raises(UserError, match="two runs would be called random-"):
        runs(study)


def test_a_mixed_model_names_the_normaliser_of_each_attention_type():
    mixed = {"cross15": {"decoder_cross": "entmax15"}}
    plan = runs(parse({"entmax": {"mixed": mixed}}))
    expected = {"encoder": "softmax", "decoder_self": "softmax", "decoder_cross": "entmax15"}
    assert plan["cross15-s1"].settings["model"]["normalisers"] == expected
