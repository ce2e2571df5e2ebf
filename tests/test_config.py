"""Every fault at once, in one line, with the path, the value, what is allowed and the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.config import Study, parse, read, studies
from headcount.errors import UserError
from headcount.plan import runs

ROOT = Path(__file__).parents[1]


def faults(values: dict) -> list[str]:
    with pytest.raises(UserError) as caught:
        parse(values)
    return str(caught.value).splitlines()


def test_every_fault_is_reported_in_one_line():
    lines = faults(
        {
            "modle": {},
            "model": {"normm": "pre", "norm": "prre"},
            "training": {"updates": "many", "dropout": 0.1},
            "data": {"source": "tatobea"},
        }
    )
    assert len(lines) == 6
    assert any(line.startswith("modle: unknown key; did you mean 'model'?") for line in lines)
    assert any(line.startswith("model.normm: unknown key; did you mean 'norm'?") for line in lines)
    assert any("model.norm: 'prre' is not allowed; did you mean 'pre'?; allowed: pre, post" in line for line in lines)
    assert any(line.startswith("training.updates: 'many'") for line in lines)
    assert any("data.source: 'tatobea'" in line and "did you mean 'tatoeba'?" in line for line in lines)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"model": {"width": 100}}, "model"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": []}, "seeds"),
        ({"l0": {"penalties_encoder": [-0.1]}}, "l0.penalties_encoder"),
        ({"lottery": {"tickets": [35]}}, "lottery.tickets"),
        ({"lottery": {"tickets": [0]}}, "lottery.tickets"),
        ({"lottery": {"rewind_update": 2590}}, "lottery.rewind_update"),
        ({"training": {"warmup_updates": 2601}}, "training.warmup_updates"),
        ({"training": {"learning_rate": float("nan")}}, "training.learning_rate"),
        ({"training": {"learning_rate": -1}}, "training.learning_rate"),
        ({"data": {"source": "files"}}, "data.files"),
        ({"study": "../escape"}, "study"),
        ({"entmax": {"normalisers": ["sofmax"]}}, "entmax.normalisers.0"),
        ({"data": None}, "data"),
        ({"l0": {"target_heads_encoder": [25]}}, "l0.target_heads_encoder"),
        ({"l0": {"target_heads_all": [0]}}, "l0.target_heads_all"),
        ({"l0": {"scratch_all": [0.5]}}, "l0.scratch_all"),
        ({"l0": {"normalisers": ["sparsemax"]}}, "l0.normalisers"),
        ({"methods": ["lottery"], "lottery": {"normalisers": ["entmax15"]}}, "lottery.normalisers"),
        ({"roles": {"removal": True}, "analyses": []}, "roles.removal"),
        ({"entmax": {"mixed": {"softmax": {}}}}, "entmax.mixed"),
        ({"entmax": {"mixed": {"mine": {"encoder": "sofmax"}}}}, "entmax.mixed.mine.encoder"),
        ({"entmax": {"mixed": {"mine": {"encodr": "softmax"}}}}, "entmax.mixed.mine.encodr: unknown key; did you"),
        ({"lottery": {"variants": {"x": {"tickets": [35]}}}}, "lottery.variants.x.tickets"),
        ({"lottery": {"variants": {"x": {"scorer": "confidance"}}}}, "lottery.variants.x.scorer"),
        ({"lottery": {"variants": {"x": {"variants": {}}}}}, "lottery.variants.x.variants"),
        ({"lottery": {"variants": {"entmax15": {}}}}, "lottery.variants.entmax15"),
        ({"lottery": {"controls": {"reinit": [9]}}}, "lottery.controls.reinit"),
        ({"lottery": {"controls": {"reinitt": "all"}}}, "lottery.controls.reinitt"),
        ({"lottery": {"controls": {"reinit_longer": "all"}}}, "lottery.longer_learning_rates"),
        ({"lottery": {"least_per_layer": 3}}, "lottery.least_per_layer"),
        ({"lottery": {"scope": "encoder"}}, "lottery.tickets"),
        ({"l0": {"variants": {"x": {"target_heads_all": [73]}}}}, "l0.variants.x.target_heads_all"),
        ({"methods": ["ranked"], "ranked": {"heads": [72]}}, "ranked.heads"),
        ({"methods": ["ranked"], "ranked": {"steps": 400}}, "ranked.steps"),
        ({"methods": ["subset"], "subset": {"heads": [9, 9]}}, "subset.heads"),
        ({"subset": {"temperature_end": 2.0}}, "subset.temperature_end"),
        ({"smaller": {"narrow": {"feed_forwrd": 1}}}, "smaller.narrow.feed_forwrd: unknown key; did you mean"),
        ({"smaller": {"baseline": {}}}, "smaller"),
        ({"evaluation": {"speed_beams": [0]}}, "evaluation.speed_beams"),
        ({"corpora": {"en-de": {}}}, "corpora.en-de"),
        ({"corpora": {"../x": {}}}, "corpora.../x"),
        ({"corpora": {"en-fr": {"study": "x"}}}, "corpora.en-fr.study"),
        ({"corpora": {"en-fr": {"data": {"sorce": "x"}}}}, "corpora.en-fr.data.sorce: unknown key; did you mean"),
        ({"corpora": {"en-fr": {"model": {"heads": 7}}}}, "corpora.en-fr.model"),
    ],
)
def test_faults_name_their_path(values: dict, path: str):
    assert any(line.startswith(path) for line in faults(values))


TAUGHT = {"data": {"teacher": "en-de"}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"data": {"teacher": "en-de"}}, "data.teacher: 'en-de' is this corpus itself"),
        ({"data": {"teacher": "apertium"}}, "data.teacher: apertium does not translate en to de; allowed: en to es"),
        ({"data": {"teacher": "apertiun"}}, "data.teacher: no corpus 'apertiun'; did you mean 'apertium'?"),
        (
            {"corpora": {"a": TAUGHT, "b": {"data": {"teacher": "a"}}}},
            "corpora.b.data.teacher: 'a' has a teacher itself",
        ),
        (
            {"corpora": {"a": {"data": {"teacher": "en-de", "split_seed": 2}}}},
            "corpora.a.data.teacher: 'en-de' differs",
        ),
    ],
)
def test_a_teacher_must_be_able_to_teach(values: dict, said: str):
    with pytest.raises(UserError, match="teacher") as caught:
        runs(parse(values))
    assert str(caught.value).startswith(said)


def test_a_corpus_may_be_taught_by_another_or_by_rules():
    spanish = {"data": {"target_language": "es", "teacher": "apertium"}}
    plan = runs(parse({"corpora": {"student": TAUGHT, "en-es": spanish}}))
    assert {"student-baseline-s1", "en-es-baseline-s1"} <= set(plan)


def test_settings_of_a_method_that_is_not_run_do_not_matter():
    assert parse({"methods": ["l0"], "lottery": {"tickets": [35]}}).methods == ("l0",)


def test_values_that_arrive_as_text_are_understood():
    study = parse({"seeds": "[1, 2]", "training": {"updates": "900"}, "l0": {"penalties_all": "[0, 0.5]"}})
    assert study.seeds == (1, 2)
    assert study.training.updates == 900
    assert study.l0.penalties_all == (0.0, 0.5)


def test_a_study_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Study().study = "other"  # type: ignore[misc]


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_every_shipped_config_is_valid(path: Path):
    assert read(ROOT / "config.yaml", path).study != "default"


def test_the_default_config_is_the_models_default():
    assert read(ROOT / "config.yaml") == Study()


def test_unreadable_configs_are_named(tmp_path: Path):
    with pytest.raises(UserError, match="no such config file"):
        read(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1,\n")
    with pytest.raises(UserError, match="not valid YAML"):
        read(broken)
    broken.write_text("- a\n")
    with pytest.raises(UserError, match="expected a mapping"):
        read(broken)


def test_overrides_merge_mappings_and_replace_lists(tmp_path: Path):
    override = tmp_path / "mine.yaml"
    override.write_text("model: {heads: 16}\nseeds: [7]\n")
    study = read(ROOT / "config.yaml", override)
    assert (study.model.heads, study.model.width, study.seeds) == (16, Study().model.width, (7,))


def test_a_further_corpus_differs_in_its_own_keys_only():
    main = parse({"corpora": {"en-fr": {"data": {"target_language": "fr"}, "methods": []}}, "seeds": [3]})
    assert list(studies(main)) == ["en-de", "en-fr"]
    other = studies(main)["en-fr"].model_dump(exclude={"corpora"})
    expected = main.model_dump(exclude={"corpora"})
    expected["data"]["target_language"] = "fr"
    expected["methods"] = ()
    assert other == expected
