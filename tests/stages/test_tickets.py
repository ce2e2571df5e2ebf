"""Lotteries of every kind on a tiny study: where they start, which heads they keep, which batches they see."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_settings import EVERY_5_UPDATES, TINY

from headcount.config import parse
from headcount.data.encoded import Encoded
from headcount.heads import Heads, total
from headcount.model.shape import ModelConfig
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.plan import Run, runs
from headcount.registry import load
from headcount.stages.begin.task import Beginning, Task
from headcount.stages.train import BEGINNINGS, train

STUDY: dict[str, Any] = {
    **TINY,
    "methods": ["lottery"],
    "lottery": {
        **TINY["lottery"],
        "controls": {"same_counts": "all"},
        "variants": {
            "from_start": {"rewind_update": 0, "controls": {"same_counts": "all"}},
            "again": {"schedule": "restarted", "moments": "fresh", "data_order": "new", "scorer": "random"},
            "front": {"scope": "encoder", "heads_per_round": 1, "tickets": [2], "least_per_layer": 1},
        },
    },
}


@pytest.fixture(scope="module")
def drawn(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Run]]:
    """The baseline, all rounds and their tickets, trained."""
    folder = tmp_path_factory.mktemp("lotteries")
    planned = runs(parse(STUDY))
    for run in planned.values():
        parents = [folder / parent for parent in run.parents]
        train(run.settings, code="code", data=data, out=folder / run.run, parents=parents, rhythm=EVERY_5_UPDATES)
    return folder, planned


def kept(folder: Path) -> Heads:
    found = next(path for path in (folder / "heads.json", folder / "model.json") if path.exists())
    heads: Heads = json.loads(found.read_text())["kept"]
    return heads


def beginning(drawn: tuple[Path, dict[str, Run]], data: Path, name: str) -> Beginning:
    folder, planned = drawn
    run = planned[name]
    parents = tuple(folder / parent for parent in run.parents)
    dev = Encoded.load(data / "encoded" / "dev.npz")
    shape = ModelConfig.from_dict(json.loads((folder / "baseline-s1" / "model.json").read_text()))
    task = Task(run.settings, parents, folder / name, shape.vocabulary, dev, torch.device("cpu"))
    begun: Beginning = load("stages.begin", BEGINNINGS[run.stage]).begin(task)
    return begun


def test_a_ticket_from_the_start_is_the_baseline_before_its_first_update(drawn, data: Path):
    folder, _ = drawn
    begun = beginning(drawn, data, "from_start-ticket-4-s1")
    dense = load("stages.begin", "scratch")
    planned = runs(parse(STUDY))["baseline-s1"]
    shape = dataclasses.replace(begun.model.config, kept={})
    initial = dense.begin(
        Task(planned.settings, (), folder / "x", shape.vocabulary, Encoded.from_lists([], []), torch.device("cpu"))
    )
    expected, _ = remove_heads(initial.model.state_dict(), initial.model.config, begun.model.config.kept)
    assert begun.start is None
    assert total(begun.model.config.kept) == 4
    for name, value in begun.model.state_dict().items():
        assert torch.equal(value, expected[name]), name


def test_the_control_keeps_as_many_heads_in_every_layer_with_the_checkpoints_values(drawn, data: Path):
    folder, _ = drawn
    ticket, control = kept(folder / "ticket-4-s1"), kept(folder / "same_counts-4-s1")
    assert [[len(ids) for ids in ticket[kind]] for kind in ticket] == [
        [len(ids) for ids in control[kind]] for kind in ticket
    ]
    begun = beginning(drawn, data, "same_counts-4-s1")
    checkpoint = torch.load(folder / "baseline-s1" / "rewind-000010.pt", weights_only=True)
    dense = Transformer(dataclasses.replace(begun.model.config, kept={}))
    expected, _ = remove_heads(checkpoint["model"], dense.config, control)
    assert begun.start is not None
    for name, value in begun.model.state_dict().items():
        assert torch.equal(value, expected[name]), name


def test_a_restarted_ticket_has_the_same_final_budget_and_batches_of_its_own(drawn, data: Path):
    folder, planned = drawn
    again, usual = (beginning(drawn, data, name) for name in ("again-ticket-4-s1", "ticket-4-s1"))
    assert again.start is not None
    assert usual.start is not None
    assert (again.start["update"], again.updates) == (0, usual.updates - 10)
    assert usual.start["update"] == 10
    assert usual.data_seed is None
    seeds = {beginning(drawn, data, name).data_seed for name in planned if name.startswith("again-")}
    assert None not in seeds
    assert len(seeds) == 3  # two rounds and a ticket
    made = json.loads((folder / "again-ticket-4-s1" / "run.json").read_text())["updates"]
    assert made == usual.updates - 10


def test_a_lottery_of_the_encoder_leaves_the_decoder_whole(drawn):
    folder, _ = drawn
    heads = kept(folder / "front-ticket-2-s1")
    assert [len(layer) for layer in heads["encoder"]] == [1, 1]
    assert heads["decoder_self"] == heads["decoder_cross"] == [[0, 1]]


def test_a_round_without_updates_ranks_the_checkpoint_itself(data: Path, tmp_path: Path):
    variant = {"scorer": "random", "round_updates": 0}
    planned = runs(parse({**STUDY, "lottery": {**TINY["lottery"], "variants": {"random": variant}}}))
    for name in ("baseline-s1", "random-round-01-s1", "random-round-02-s1"):
        run = planned[name]
        parents = [tmp_path / parent for parent in run.parents]
        train(run.settings, code="code", data=data, out=tmp_path / name, parents=parents, rhythm=EVERY_5_UPDATES)
    assert total(kept(tmp_path / "random-round-02-s1")) == 4
    assert json.loads((tmp_path / "random-round-01-s1" / "run.json").read_text())["status"] == "finished"
