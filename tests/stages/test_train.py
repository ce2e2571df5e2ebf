"""Every stage of a study in its folder; killed anywhere, it ends with the same bytes."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
import torch
from command import headcount
from tiny_settings import EVERY_5_UPDATES, TINY

from headcount.config import Study, parse
from headcount.errors import UserError
from headcount.heads import Heads, count, total
from headcount.model import weights
from headcount.plan import Run, runs
from headcount.stages.train import train
from headcount.train.journal import read


def run_stage(run: Run, data: Path, folder: Path, code: str = "code") -> Path:
    out = folder / run.run
    parents = [folder / parent for parent in run.parents]
    train(run.settings, code=code, data=data, out=out, parents=parents, rhythm=EVERY_5_UPDATES)
    return out


CONTROLS = {
    **TINY,
    "analyses": ["roles"],
    "roles": {"removal": True},
    "methods": ["l0", "lottery", "entmax"],
    "entmax": {"normalisers": ["entmax_alpha"]},
    "lottery": {**TINY["lottery"], "normalisers": ["entmax_alpha"]},
    "l0": {
        **TINY["l0"],
        "normalisers": ["softmax", "entmax_alpha"],
        "scopes": ["encoder"],
        "penalties_encoder": [1.0],
        "initial_log_alpha": 0.0,
        "initial_spread": 0.1,
        "settled_updates": 3,
        "target_heads_encoder": [2],
        "scratch_encoder": [1.0],
        "random_encoder": [1.0],
    },
}
"""The kinds of run that the tiny study lacks: other parents, wishes, controls."""

ROLES = {"heads": [{"attention": "encoder", "layer": 1, "head": 0, "roles": ["rare"]}]}


@pytest.fixture(scope="module")
def controls(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Run]]:
    """The runs of the study of controls but for repetitions; a table stands in for the analysis that finds roles."""
    folder = tmp_path_factory.mktemp("controls")
    planned = runs(parse(CONTROLS))
    for name in ("l0-encoder-0-s1", "entmax_alpha-l0-encoder-0-s1", "entmax_alpha-l0-encoder-2h-s1"):
        planned.pop(name)
    for run in planned.values():
        if run.stage == "finetune_removed":
            (folder / "baseline-s1" / "roles.json").write_text(json.dumps(ROLES))
        run_stage(run, data, folder)
    return folder, planned


def kept_of(folder: Path) -> Heads:
    heads: Heads = json.loads((folder / "model.json").read_text())["kept"]
    return heads


def test_twins_have_the_heads_of_the_run_that_they_are_compared_with(controls: tuple[Path, dict[str, Run]]):
    folder, planned = controls
    for begin, normaliser in (("", "softmax"), ("entmax_alpha-", "entmax_alpha")):
        l0, scratch, drawn = (folder / f"{begin}{name}-encoder-1-s1" for name in ("l0", "scratch", "random"))
        assert kept_of(scratch) == kept_of(l0)
        assert count(kept_of(drawn)) == count(kept_of(l0))
        updates = [json.loads((run / "run.json").read_text())["updates"] for run in (scratch, drawn)]
        assert updates == [CONTROLS["training"]["updates"], CONTROLS["l0"]["updates"]]
        configs = [weights.load(run, torch.device("cpu")).config for run in (l0, scratch, drawn)]
        assert all(set(config.normalisers.values()) == {normaliser} for config in configs)
        assert planned[drawn.name].parents[0] == ("baseline-s1" if not begin else "entmax_alpha-s1")


def test_named_and_unnamed_heads_are_removed_in_equal_numbers(controls: tuple[Path, dict[str, Run]]):
    folder, _ = controls
    named, unnamed = (kept_of(folder / f"{name}-encoder-s1") for name in ("named", "unnamed"))
    assert named["encoder"] == [[0, 1], [1]]
    assert count(unnamed) == count(named)
    assert 0 in unnamed["encoder"][1]


def test_controls_of_the_encoder_leave_the_decoder_as_it_was(controls: tuple[Path, dict[str, Run]]):
    folder, _ = controls
    before = weights.load(folder / "baseline-s1", torch.device("cpu")).state_dict()
    for name in ("named", "unnamed", "random-1"):
        run = folder / f"{name.split('-')[0]}-encoder{'-1' if '-' in name else ''}-s1"
        after = weights.load(run, torch.device("cpu")).state_dict()
        same = {key for key, value in after.items() if torch.equal(value, before[key])}
        assert {key for key in after if not key.startswith("encoder.")} <= same  # the embeddings are tied
        assert any(key.startswith("encoder.") for key in after.keys() - same)


def test_l0_runs_end_early_or_look_for_a_number_of_heads(controls: tuple[Path, dict[str, Run]]):
    folder, planned = controls
    early = folder / "l0-encoder-1-s1"
    recorded = json.loads((early / "run.json").read_text())["updates"]
    lines = read(early / "journal.jsonl")
    assert recorded == lines[-1]["update"] < CONTROLS["l0"]["updates"]
    assert "valid/bleu" in lines[-1]
    last = read(folder / "l0-encoder-2h-s1" / "journal.jsonl")[-2]
    assert last["l0/penalty"] != planned["l0-encoder-2h-s1"].settings["l0"]["penalty"]
    assert total(kept_of(folder / "l0-encoder-2h-s1")) == last["heads/kept"]
    for name in ("l0-encoder-1-s1", "entmax_alpha-l0-encoder-1-s1"):
        told = [line for line in read(folder / name / "journal.jsonl") if "gates" in line]
        assert all(("alpha" in line) == name.startswith("entmax_alpha") for line in told)


def test_the_lottery_draws_from_a_sparse_model(controls: tuple[Path, dict[str, Run]]):
    folder, _ = controls
    ticket, reinit = (folder / f"entmax_alpha-{name}-4-s1" for name in ("ticket", "reinit"))
    assert kept_of(ticket) == kept_of(reinit)
    model = weights.load(ticket, torch.device("cpu"))
    for attention in model.attentions().values():
        assert attention.normaliser.alpha.shape == (len(attention.kept),)


def test_other_roles_are_other_runs(controls: tuple[Path, dict[str, Run]], data: Path, tmp_path: Path, caplog):
    import shutil

    folder, planned = controls
    copied = tmp_path / "runs"
    shutil.copytree(folder, copied)
    for name, repeats in (("l0-encoder-1-s1", False), ("named-encoder-s1", True)):
        (copied / "baseline-s1" / "roles.json").write_text(json.dumps({**ROLES, "note": "new"}))
        caplog.clear()
        run_stage(planned[name], data, copied)
        assert ("belongs to other settings" in caplog.text) == repeats


@pytest.fixture(scope="module")
def finished(tiny: Study, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for run in runs(tiny).values():
        run_stage(run, data, folder)
    return folder


def test_every_stage_ends_in_its_outputs(finished: Path, tiny: Study):
    for run in runs(tiny).values():
        record = json.loads((finished / run.run / "run.json").read_text())
        assert record["status"] == "finished"
        assert record["tokens"] > 0
        assert (finished / run.run / "model.safetensors").is_file() == run.trains_a_model


def test_models_have_the_heads_that_their_method_left(finished: Path):
    def kept(run: str) -> dict:
        return json.loads((finished / run / "model.json").read_text())["kept"]

    assert total(kept("baseline-s1")) == 8
    assert total(kept("l0-encoder-0-s1")) == 8
    assert count(kept("l0-encoder-1-s1")) == {"encoder": 0, "decoder_self": 2, "decoder_cross": 2}
    rounds = [json.loads((finished / f"round-{n:02d}-s1" / "heads.json").read_text())["kept"] for n in (1, 2)]
    assert [total(heads) for heads in rounds] == [6, 4]
    assert kept("ticket-4-s1") == kept("reinit-4-s1") == rounds[1]


def test_the_methods_of_a_seed_start_from_the_same_weights_and_the_control_does_not(finished: Path, data: Path):
    start = torch.load(finished / "baseline-s1" / "rewind-000010.pt", weights_only=True)
    assert start["update"] == 10
    ticket = weights.load(finished / "ticket-4-s1", torch.device("cpu"))
    reinit = weights.load(finished / "reinit-4-s1", torch.device("cpu"))
    assert ticket.config == reinit.config
    assert not torch.equal(ticket.output_weight, reinit.output_weight)


def test_a_run_killed_at_any_update_ends_with_the_same_bytes(
    finished: Path, tiny: Study, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADCOUNT_CHECKPOINTS", json.dumps({"every_updates": 5}))
    run = runs(tiny)["baseline-s1"]
    out = tmp_path / run.run
    arguments = ["train", "--settings", run.canonical, "--code", "code", "--data", str(data), "--out", str(out)]
    for after in (5, 25):
        process = headcount(*arguments)
        wait_for(lambda after=after: newest(out) >= after, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (out / "model.safetensors").exists()
        assert json.loads((out / "run.json").read_text())["status"] == "running"
    process = headcount(*arguments)
    assert process.wait() == 0, process.stdout.read() if process.stdout else ""
    for name in ("model.safetensors", "model.json"):
        assert (out / name).read_bytes() == (finished / run.run / name).read_bytes()
    updates = [json.loads(line)["update"] for line in (out / "journal.jsonl").read_text().splitlines()]
    assert updates == sorted(updates)


def newest(out: Path) -> int:
    return max((int(path.stem.split("-")[1]) for path in out.glob("checkpoints/update-*.pt")), default=0)


def wait_for(condition, process, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("change", ["code", "data", "parent"])
def test_checkpoints_of_other_code_data_or_parents_are_not_gone_on_from(
    finished: Path, tiny: Study, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str
):
    import shutil

    runs_folder, corpus = tmp_path / "runs", tmp_path / "data"
    shutil.copytree(finished, runs_folder)
    shutil.copytree(data, corpus)
    run = runs(tiny)["l0-encoder-0-s1"]
    if change == "data":
        shutil.copy(corpus / "encoded" / "dev.npz", corpus / "encoded" / "train.npz")
    if change == "parent":
        shutil.copy(runs_folder / "l0-all-0-s1" / "model.safetensors", runs_folder / "baseline-s1")
        shutil.copy(runs_folder / "l0-all-0-s1" / "model.json", runs_folder / "baseline-s1")
    run_stage(run, corpus, runs_folder, code="other" if change == "code" else "code")
    assert "belongs to other settings" in caplog.text


def test_an_unchanged_run_is_not_trained_again(finished: Path, tiny: Study, data: Path, tmp_path: Path):
    run = runs(tiny)["baseline-s1"]
    before = (finished / run.run / "model.safetensors").read_bytes()
    started = time.monotonic()
    run_stage(run, data, finished)
    assert (finished / run.run / "model.safetensors").read_bytes() == before
    lines = (finished / run.run / "journal.jsonl").read_text().splitlines()
    assert len(lines) == len(set(lines))
    assert time.monotonic() - started < 60


def test_a_diverging_run_stops_with_one_clear_error(tiny: Study, data: Path, tmp_path: Path):
    run = runs(tiny)["baseline-s1"]
    settings = {**run.settings, "training": {**run.settings["training"], "learning_rate": 1e30, "skipped_updates": 2}}
    with pytest.raises(UserError, match="not finite"):
        train(settings, code="code", data=data, out=tmp_path / "run", parents=[], rhythm=EVERY_5_UPDATES)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"
