from __future__ import annotations

import json

import pytest

from headcount import plan
from headcount.errors import UserError
from headcount.tracking.names import LONGEST_VALUE, digest
from headcount.tracking.payload import curve, parameters, run_names, run_payload


def test_a_curve_keeps_the_last_of_two_equal_updates():
    lines = [
        {"update": 20, "seconds": 1.0, "loss": 3.0, "valid/bleu": 1},
        {"update": 40, "seconds": 2.0, "loss": 2.0},
        {"update": 20, "seconds": 9.0, "loss": 2.5},
        {"event": "no update"},
    ]
    points, non_finite = curve(lines)
    assert [(*key, point.value, point.seconds) for key, point in points.items()] == [
        ("train/loss", 20, 2.5, 9.0),
        ("train/loss", 40, 2.0, 2.0),
        ("valid/bleu", 20, 1.0, 1.0),
    ]
    assert non_finite == {}


def test_non_finite_values_are_flagged_and_not_faked():
    lines = [
        {"update": 5, "loss": "Infinity", "nll": 1.0},
        {"update": 6, "loss": "NaN", "gates": {"encoder": [["NaN", 1.0]]}},
        {"update": 7, "loss": "NaN"},
        {"update": 7, "loss": 1.0},
    ]
    points, non_finite = curve(lines)
    assert list(points) == [("train/loss", 7), ("train/nll", 5)]
    assert non_finite == {"gates/encoder": [6], "gates/mean": [6], "train/loss": [5, 6]}


def test_a_long_parameter_is_a_digest_and_a_whole_file():
    heads = [[layer, head] for layer in range(40) for head in range(40)]
    params, files = parameters({"kept": heads, "scope": "", "width": 16.0, "l0": {"penalty@x": 0.01}})
    text = json.dumps(heads)
    assert len(text) > LONGEST_VALUE
    assert files == {"params/kept.txt": text}
    assert params == {
        "kept": f"sha256:{digest(text)}",
        "width": "16",
        f"l0.penalty_x_{digest('l0.penalty@x')[:6]}": "0.01",
    }


def test_a_finished_run(bare):
    bare.write("l0-encoder-0.01-s1")
    payload = run_payload(bare.folder, "l0-encoder-0.01-s1")
    assert payload.status == "FINISHED"
    assert payload.tags == {
        "paper": "voita2019",
        "corpus": "en-de",
        "normaliser": "softmax",
        "method": "l0",
        "stage": "finetune_l0",
        "seed": "1",
        "scope": "encoder",
        "setting": "λ=0.01",
        "parents": "baseline-s1",
        "mlflow.source.name": "headcount finetune_l0",
        "mlflow.source.type": "JOB",
        "mlflow.source.git.commit": "0123abc",
        "git_dirty": "true",
    }
    values = {(point.metric, point.step): point.value for point in payload.points}
    assert values["score/bleu", 0] == 20.5
    assert values["heads/total", 0] == 3
    assert values["heads/decoder_cross", 0] == 0
    assert values["cost/tokens", 0] == 54_000
    assert values["gates/encoder", 60] == 0.75
    assert not {metric for metric, _ in values} & {"gates", "train/gates", "score/p_value", "score/suspect"}
    assert set(payload.files) == {"run.yaml", "run.json", "score.json", "heads.json"}
    assert payload.params["l0.penalty"] == "0.01"


@pytest.mark.parametrize(
    ("run", "paper"), [("baseline-s1", "baseline"), ("entmax15-s1", "correia2019"), ("reinit-2-s1", "behnke2020")]
)
def test_every_method_has_its_paper(bare, run, paper):
    bare.write(run)
    assert run_payload(bare.folder, run).tags["paper"] == paper


def test_every_planned_run_can_be_told(bare):
    for run in plan.runs(bare.study):
        bare.write(run)
        assert run_payload(bare.folder, run).params["seed"] == "1"
    assert run_names(bare.folder) == sorted(plan.runs(bare.study))


def test_speed_is_told_to_its_run(bare):
    bare.write("baseline-s1")
    of = {"beam": 4, "sentences_per_batch": 32, "identical_outputs": True}
    rows = [{"run": run, "seconds_per_sentence": 0.02, **of} for run in ("baseline-s1", "other")]
    rows.append({**rows[0], "beam": 1, "seconds_per_sentence": 0.01})
    speed = bare.folder / "speed" / f"{bare.study.corpus}-s1.json"
    speed.parent.mkdir()
    speed.write_text(json.dumps({"conditions": {}, "rows": rows}))
    points = [point for point in run_payload(bare.folder, "baseline-s1").points if point.metric.startswith("speed/")]
    assert [(point.metric, point.value) for point in points] == [
        ("speed/beam_4_batch_32/seconds_per_sentence", 0.02),
        ("speed/beam_1_batch_32/seconds_per_sentence", 0.01),
    ]


def test_suspect_scores_and_non_finite_losses_become_tags(bare):
    folder = bare.write("baseline-s1")
    (folder / "score.json").write_text(json.dumps({"bleu": 0.0, "suspect": True}))
    with (folder / "journal.jsonl").open("a") as handle:
        handle.writelines(json.dumps({"update": update, "loss": "NaN"}) + "\n" for update in range(100, 120))
    tags = run_payload(bare.folder, "baseline-s1").tags
    assert tags["suspect"] == "true"
    listed = ", ".join(str(update) for update in range(100, 110))
    assert tags["non_finite"] == f"train/loss at update {listed} and 10 more"


def test_the_fingerprint_sees_file_contents(bare):
    folder = bare.write("baseline-s1")
    before = run_payload(bare.folder, "baseline-s1").fingerprint
    assert run_payload(bare.folder, "baseline-s1").fingerprint == before
    with (folder / "heads.json").open("a") as handle:
        handle.write("\n")
    assert run_payload(bare.folder, "baseline-s1").fingerprint != before


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("run.json", '{"status": "fin', "cannot be read"),
        ("run.yaml", "- 1", "expected a mapping, found list"),
        ("journal.jsonl", "{}x\n{}\n", "line 1"),
    ],
)
def test_a_damaged_file_is_named(bare, file, content, message):
    folder = bare.write("baseline-s1")
    (folder / file).write_text(content)
    with pytest.raises(UserError, match=message) as caught:
        run_payload(bare.folder, "baseline-s1")
    assert str(folder / file) in str(caught.value)
