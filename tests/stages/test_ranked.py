"""The three ways in which a trained model loses its heads of the lowest score, each as a run in its folder."""

from __future__ import annotations

import functools
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_settings import EVERY_5_UPDATES

from headcount.config import Study
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import flat, total
from headcount.model import weights
from headcount.model.surgery import remove_heads
from headcount.pruning.gradual import survivors
from headcount.stages.begin.ranked import begin
from headcount.stages.begin.task import Task, rewind_name
from headcount.stages.train import train
from headcount.train.checkpoint import Checkpoints, read
from headcount.train.journal import read as read_journal
from headcount.train.optim import inverse_sqrt

CPU = torch.device("cpu")
UPDATES, REWIND_UPDATE = 20, 8
HEADS = 3
RANKED = {"scorer": "random", "heads": HEADS, "updates": 12, "learning_rate": 1e-3, "steps": 3}
WAYS = ("one_shot", "iterative", "rate_rewound")


@pytest.fixture(scope="module")
def shared(tiny: Study) -> dict[str, Any]:
    """What the settings of all runs have in common."""
    return {"seed": 1, "training": {**tiny.training.model_dump(mode="json"), "updates": UPDATES}}


@pytest.fixture(scope="module")
def dense(tiny: Study, shared: dict[str, Any], data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dense model of 8 heads with the checkpoint of an early update."""
    out = tmp_path_factory.mktemp("dense") / "baseline-s1"
    model = tiny.model.model_dump(mode="json")
    settings = {**shared, "run": out.name, "stage": "train_baseline", "model": model, "keep_updates": [REWIND_UPDATE]}
    train(settings, code="code", data=data, out=out, parents=[], rhythm=EVERY_5_UPDATES)
    return out


def settings_of(shared: dict[str, Any], way: str, **changes: Any) -> dict[str, Any]:
    ranked = {**RANKED, "way": way, "rewind_update": REWIND_UPDATE, **changes}
    return {**shared, "run": f"ranked-{way}-s1", "stage": "finetune_ranked", "ranked": ranked}


def run(settings: dict[str, Any], dense: Path, data: Path, folder: Path) -> Path:
    out = folder / settings["run"]
    train(settings, code="code", data=data, out=out, parents=[dense], rhythm=EVERY_5_UPDATES)
    return out


def task_of(settings: dict[str, Any], dense: Path, data: Path, out: Path) -> Task:
    dev = Encoded.load(data / "encoded" / "dev.npz")
    return Task(settings, (dense,), out, vocabulary=0, dev=dev, device=CPU)


@pytest.fixture(scope="module")
def finished(shared: dict[str, Any], dense: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranked")
    for way in WAYS:
        run(settings_of(shared, way), dense, data, folder)
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_every_way_ends_in_a_model_of_the_best_heads(finished: Path, dense: Path, data: Path, way: str):
    """Scores by chance stay the same when weights change, so all ways agree."""
    out = finished / f"ranked-{way}-s1"
    dev = Encoded.load(data / "encoded" / "dev.npz")
    model = weights.load(out, CPU)
    before = weights.load(dense, CPU)
    assert model.config.kept == survivors(before, dev, scorer="random", heads=HEADS, seed=1)
    assert total(model.config.kept) == HEADS
    assert model.state_dict().keys() == before.state_dict().keys()
    assert not torch.equal(model.output_weight, before.output_weight)
    record = json.loads((out / "run.json").read_text())
    last = UPDATES if way == "rate_rewound" else RANKED["updates"]
    assert record["status"] == "finished"
    assert record["updates"] == read_journal(out / "journal.jsonl")[-1]["update"] == last


def test_what_is_left_is_the_dense_model_s(shared: dict[str, Any], dense: Path, data: Path, tmp_path: Path):
    before = weights.load(dense, CPU)
    for way in ("one_shot", "iterative"):
        out = run(settings_of(shared, way, learning_rate=0.0), dense, data, tmp_path)
        after = weights.load(out, CPU)
        expected, _ = remove_heads(before.state_dict(), before.config, after.config.kept)
        assert all(torch.equal(value, expected[name]) for name, value in after.state_dict().items())


def test_steps_are_told_in_the_journal(finished: Path):
    told = [line["heads/kept"] for line in read_journal(finished / "ranked-iterative-s1" / "journal.jsonl")[:1]]
    assert told == [HEADS]


@pytest.mark.parametrize(("way", "after"), [("one_shot", 5), ("iterative", 5), ("iterative", 10), ("rate_rewound", 15)])
def test_a_stopped_run_ends_with_the_same_bytes(
    finished: Path,
    shared: dict[str, Any],
    dense: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    way: str,
    after: int,
):
    """The steps of the iterative way follow updates 0, 3 and 6."""
    save = Checkpoints.save

    def save_and_die(self: Checkpoints, state: Any) -> None:
        save(self, state)
        if state["update"] == after:
            raise OSError("the power is gone")

    settings = settings_of(shared, way)
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "save", save_and_die)
        with pytest.raises(OSError, match="power"):
            run(settings, dense, data, tmp_path)
    with caplog.at_level(logging.INFO):
        out = run(settings, dense, data, tmp_path)
    assert f"going on from {out}/checkpoints/update-{after:06d}.pt" in caplog.text
    for name in ("model.safetensors", "model.json"):
        assert (out / name).read_bytes() == (finished / out.name / name).read_bytes()


def test_a_rewound_rate_is_that_of_the_rest_of_the_training(
    shared: dict[str, Any], dense: Path, data: Path, tmp_path: Path
):
    training = shared["training"]
    beginning = begin(task_of(settings_of(shared, "rate_rewound"), dense, data, tmp_path))
    state = read(dense / rewind_name(REWIND_UPDATE))
    start, group = beginning.start, beginning.groups[0]
    assert start is not None
    rate = functools.partial(inverse_sqrt, peak=training["learning_rate"], warmup_updates=training["warmup_updates"])
    assert [group.rate(update) for update in (9, 20)] == [rate(9), rate(20)]
    assert (start["update"] + 1, beginning.updates) == (9, 20)
    assert (start["position"], start["tokens"]) == (state["position"], state["tokens"])
    assert start["steps"] == 0
    assert all(values == {} for values in start["moments"].values())
    assert beginning.average_checkpoints == training["average_checkpoints"] > 1
    # Weights are those of the finished model, not of the checkpoint.
    finished = load_file(dense / "model.safetensors")
    assert torch.equal(start["model"]["embedding.shared"], finished["embedding.shared"])
    assert not torch.equal(state["model"]["embedding.shared"], finished["embedding.shared"])


def test_rewound_updates_see_the_rate_and_the_batches_of_the_dense_ones(finished: Path, dense: Path):
    def lines(run: Path) -> dict[int, dict[str, Any]]:
        return {line["update"]: line for line in read_journal(run / "journal.jsonl") if "loss" in line}

    again, first = lines(finished / "ranked-rate_rewound-s1"), lines(dense)
    assert list(again) == [20]
    for update, line in again.items():
        assert line["learning_rate"] == first[update]["learning_rate"]
        assert line["tokens"] == first[update]["tokens"]


def test_a_rate_rewound_to_the_start_needs_no_checkpoint(
    shared: dict[str, Any], dense: Path, data: Path, tmp_path: Path
):
    beginning = begin(task_of(settings_of(shared, "rate_rewound", rewind_update=0), dense, data, tmp_path))
    assert beginning.start is None
    assert beginning.updates == UPDATES
    finished = load_file(dense / "model.safetensors")
    assert torch.equal(beginning.model.output_weight, finished["embedding.shared"])


def test_fine_tuning_is_the_same_for_both_ways(shared: dict[str, Any], dense: Path, data: Path, tmp_path: Path):
    ways = [begin(task_of(settings_of(shared, way), dense, data, tmp_path)) for way in ("one_shot", "iterative")]
    for beginning in ways:
        assert [beginning.groups[0].rate(update) for update in (1, 12)] == [1e-3, 1e-3]
        assert (beginning.updates, beginning.average_checkpoints, beginning.start) == (12, 1, None)
        trained = {name for name, parameter in beginning.model.named_parameters() if parameter.requires_grad}
        assert beginning.groups[0].parameters.keys() == trained
    assert [total(beginning.model.config.kept) for beginning in ways] == [HEADS, 8]


def test_heads_chosen_otherwise_are_not_trained_with_the_weights_of_others(
    shared: dict[str, Any], dense: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Another machine may round scores otherwise; here the scores of another seed take their place."""
    kept = survivors(
        weights.load(dense, CPU), Encoded.load(data / "encoded" / "dev.npz"), scorer="random", heads=HEADS, seed=1
    )
    other = {
        kind: [[1 - head for head in ids] if len(ids) == 1 else ids for ids in rows] for kind, rows in kept.items()
    }
    assert flat(other) != flat(kept)
    settings = settings_of(shared, "rate_rewound")
    run(settings, dense, data, tmp_path)
    monkeypatch.setattr("headcount.stages.begin.ranked.survivors", lambda *args, **options: other)
    with pytest.raises(UserError, match="other heads than the scores choose"):
        run(settings, dense, data, tmp_path)


@pytest.mark.parametrize(
    ("way", "changes", "message"),
    [
        ("oneshot", {}, "did you mean 'one_shot'"),
        ("one_shot", {"heads": 9}, "0 to 8"),
        ("iterative", {"heads": -1}, "0 to 8"),
        ("iterative", {"steps": 0}, "at least 1"),
        ("one_shot", {"scorer": "confidance"}, "did you mean 'confidence'"),
        ("rate_rewound", {"rewind_update": 20}, "allowed: 0 to 19"),
        ("rate_rewound", {"rewind_update": 15}, "no such checkpoint"),
    ],
)
def test_bad_settings_are_refused(
    shared: dict[str, Any], dense: Path, data: Path, tmp_path: Path, way: str, changes: dict[str, Any], message: str
):
    with pytest.raises(UserError, match=message):
        begin(task_of(settings_of(shared, way, **changes), dense, data, tmp_path))
