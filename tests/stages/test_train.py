"""Every stage of a study in its folder; killed anywhere, it ends with the same bytes."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from command import headcount

from headcount.config import Study
from headcount.errors import UserError
from headcount.heads import count, total
from headcount.model import weights
from headcount.plan import Run, runs
from headcount.stages.train import train


def run_stage(run: Run, data: Path, folder: Path, code: str = "code") -> Path:
    out = folder / run.run
    train(run.settings, code=code, data=data, out=out, parents=[folder / parent for parent in run.parents])
    return out


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
    import torch

    start = torch.load(finished / "baseline-s1" / "rewind.pt", weights_only=True)
    assert start["update"] == 10
    ticket = weights.load(finished / "ticket-4-s1", torch.device("cpu"))
    reinit = weights.load(finished / "reinit-4-s1", torch.device("cpu"))
    assert ticket.config == reinit.config
    assert not torch.equal(ticket.output_weight, reinit.output_weight)


def test_a_run_killed_at_any_update_ends_with_the_same_bytes(finished: Path, tiny: Study, data: Path, tmp_path: Path):
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
        train(settings, code="code", data=data, out=tmp_path / "run", parents=[])
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"
