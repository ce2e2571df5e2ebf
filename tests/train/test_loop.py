from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_training import Ends, Poison, adam, checkpoints, corpus, make_model, run, weights

from headcount.data.batching import Batch, TokenBatches, make_batch
from headcount.errors import NonFiniteError
from headcount.train import loop
from headcount.train.checkpoint import Rhythm, branch, read
from headcount.train.hooks import NoHook
from headcount.train.journal import read as read_journal
from headcount.train.optim import NamedAdam


def _journal(folder: Path) -> list[dict[str, Any]]:
    """The journal without its clock."""
    lines = read_journal(folder / "journal.jsonl")
    return [{key: value for key, value in line.items() if "second" not in key} for line in lines]


def test_training_twice_gives_equal_bytes(tmp_path: Path):
    (first, _), (second, _) = run(tmp_path / "a"), run(tmp_path / "b")
    assert weights(first) == weights(second)
    assert _journal(tmp_path / "a") == _journal(tmp_path / "b")


def test_the_seed_matters(tmp_path: Path):
    (first, _), (second, _) = run(tmp_path / "a"), run(tmp_path / "b", seed=8)
    assert weights(first) != weights(second)


def test_random_numbers_used_elsewhere_do_not_matter(tmp_path: Path):
    class Noise(NoHook):
        def loss_term(self, update: int) -> None:
            torch.rand(random.randint(1, 9))
            np.random.rand(3)  # noqa: NPY002

    (first, _), (second, _) = run(tmp_path / "a"), run(tmp_path / "b", hooks=(Noise(),))
    assert weights(first) == weights(second)


def test_a_finished_run_started_again_trains_nothing(tmp_path: Path):
    first, summary = run(tmp_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    second, again = run(tmp_path)
    assert weights(first) == weights(second)
    assert (again.updates, again.tokens) == (summary.updates, summary.tokens)
    assert (tmp_path / "journal.jsonl").read_bytes() == before


def test_journal_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop, "JOURNAL_EVERY_UPDATES", 10)
    data = corpus()
    _, summary = run(tmp_path, updates=32, data=data, accumulate_batches=2)
    lines = read_journal(tmp_path / "journal.jsonl")
    training = [line for line in lines if "loss" in line]
    assert [line["update"] for line in training] == [10, 15, 20, 30, 32]
    assert [line["update"] for line in lines if "valid/loss" in line] == [15, 30, 32]
    assert set(training[0]) == {
        "update",
        "tokens",
        "seconds",
        "cpu_seconds",
        "loss",
        "nll",
        "learning_rate",
        "tokens_per_second",
        "gradient_norm",
        "skipped",
    }
    batches = TokenBatches(data, tokens_per_batch=60, seed=3)
    assert [line["tokens"] for line in training] == [
        sum(batches.at(position).target_tokens for position in range(2 * update)) for update in (10, 15, 20, 30, 32)
    ]
    assert summary.tokens == training[-1]["tokens"]
    for clock in ("seconds", "cpu_seconds"):
        assert [line[clock] for line in lines] == sorted(line[clock] for line in lines)
    assert training[0]["loss"] > training[-1]["loss"] > 0
    assert training[0]["learning_rate"] == pytest.approx(5e-3)


def test_journalled_losses_are_means_over_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sums = []

    def recorded(*arguments: Any, **options: Any) -> Any:
        result = batch_loss(*arguments, **options)
        sums.append([float(value.detach()) for value in result])
        return result

    batch_loss = loop.batch_loss
    monkeypatch.setattr(loop, "batch_loss", recorded)
    run(tmp_path, updates=15)
    (line,) = (line for line in read_journal(tmp_path / "journal.jsonl") if "loss" in line)
    loss_sum, nll_sum = np.sum(sums, axis=0) / line["tokens"]
    assert (line["loss"], line["nll"]) == (pytest.approx(loss_sum), pytest.approx(nll_sum))


class _Fixed:
    """Batches with given sentences, in order."""

    def __init__(self, *parts: list[int] | Batch) -> None:
        self.parts = [part if isinstance(part, Batch) else make_batch(corpus(), part) for part in parts]

    def at(self, position: int) -> Batch:
        return self.parts[position]


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_accumulated_batches_equal_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, penalty: float):
    class Penalty(NoHook):
        def start(self, model: torch.nn.Module, update: int) -> None:
            self.weight = model.output_weight

        def loss_term(self, update: int) -> torch.Tensor | None:
            return penalty * self.weight.square().sum() if penalty else None

    gradients: list[dict[str, torch.Tensor]] = []

    class Observed(NamedAdam):
        def step(self, *arguments: Any, **options: Any) -> Any:
            gradients.append({name: part.grad.clone() for name, part in self._named.items() if part.grad is not None})
            return super().step(*arguments, **options)

    monkeypatch.setattr("tiny_training.NamedAdam", Observed)
    nothing = torch.zeros(2, 3, dtype=torch.int64)
    padding = Batch(nothing, nothing, nothing, np.arange(2))
    cuts: list[tuple[list[int] | Batch, ...]] = [
        (list(range(8)),),
        ([0, 1, 2], [3, 4], [5, 6], [7]),
        ([7, 0, 3, 1], padding, [2, 4, 5, 6]),
    ]
    for number, cut in enumerate(cuts):
        monkeypatch.setattr("tiny_training.TokenBatches", lambda *_, cut=cut, **__: _Fixed(*cut))
        model = make_model(dropout=0.0)
        folder = tmp_path / str(number)
        run(folder, updates=1, model=model, accumulate_batches=len(cut), clip_norm=0.0, hooks=(Penalty(),))
    one, *others = gradients
    for other in others:
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)


def test_what_is_not_finite_is_skipped_and_counted(tmp_path: Path):
    infinite = {"valid/loss": math.inf}
    poison = (Poison(5, value=math.inf), Poison(6, 9))
    model, summary = run(tmp_path, hooks=poison, validate=lambda model: infinite)
    assert summary.updates == 30
    assert all(torch.isfinite(value).all() for value in model.state_dict().values())
    lines = read_journal(tmp_path / "journal.jsonl")
    assert [line["skipped"] for line in lines if "loss" in line] == [3, 3, 3]
    assert all(math.isfinite(line["loss"]) for line in lines if "loss" in line)
    assert {line["valid/loss"] for line in lines if "valid/loss" in line} == {"Infinity"}
    assert read(tmp_path / "checkpoints" / "update-000030.pt")["steps"] == 27


def test_skipping_at_the_limit_is_forgiven_and_beyond_it_is_not(tmp_path: Path):
    run(tmp_path / "a", hooks=(Poison(5, 6, 7, 9, 10, 11),))
    with pytest.raises(NonFiniteError, match="in 4 updates in a row"):
        run(tmp_path / "b", hooks=(Poison(5, 6, 7, 8),))


def test_too_many_in_a_row_stop_the_run_with_the_last_good_checkpoint(tmp_path: Path):
    with pytest.raises(NonFiniteError) as caught:
        run(tmp_path, updates=60, hooks=(Poison(*range(12, 61)),), rhythm=Rhythm(5, 1e6))
    best = tmp_path / "checkpoints" / "update-000010.pt"
    assert "in 4 updates in a row before update 15" in str(caught.value)
    assert f"last good checkpoint: {best}" in str(caught.value)
    for path in (tmp_path / "checkpoints").iterdir():
        assert all(torch.isfinite(value).all() for value in read(path)["model"].values())
    assert read_journal(tmp_path / "journal.jsonl")[-1]["skipped"] == 4


def test_an_interval_of_skipped_updates_has_no_mean(tmp_path: Path):
    run(tmp_path, updates=21, validate_every_updates=20, hooks=(Poison(21),))
    assert [line["loss"] for line in read_journal(tmp_path / "journal.jsonl") if "loss" in line][-1] == "NaN"


def test_hooks_are_called_around_the_loop(tmp_path: Path):
    calls: list[tuple[Any, ...]] = []

    class Recorder(NoHook):
        def start(self, model: torch.nn.Module, update: int) -> None:
            calls.append(("start", update))

        def loss_term(self, update: int) -> None:
            calls.append(("loss_term", update))

        def after_step(self, update: int) -> dict[str, Any]:
            calls.append(("after_step", update))
            return {"gates": {"encoder": [[0.5, 1.0]]}}

        def finish(self, model: torch.nn.Module) -> None:
            calls.append(("finish", model.training))

    run(tmp_path, updates=21, hooks=(Recorder(),))
    assert calls[0] == ("start", 0)
    assert calls[-1] == ("finish", False)
    assert [call[1] for call in calls if call[0] == "loss_term"] == list(range(1, 22))
    assert [call[1] for call in calls if call[0] == "after_step"] == [15, 20, 21]
    lines = [line for line in read_journal(tmp_path / "journal.jsonl") if "loss" in line]
    assert all(line["gates"] == {"encoder": [[0.5, 1.0]]} for line in lines)


@pytest.mark.parametrize("update", [1, 15, 19, 29])
def test_a_hook_ends_the_training_early(tmp_path: Path, update: int):
    whole, _ = run(tmp_path / "whole", keep=(update,), rhythm=Rhythm(1, 1e6))
    model, summary = run(tmp_path / "early", hooks=(Ends(update),))
    weights_then = read(tmp_path / "whole" / "checkpoints" / f"update-{update:06d}.pt")["model"]
    assert all(torch.equal(value, weights_then[name]) for name, value in model.state_dict().items())  # no averaging
    assert weights(model) != weights(whole)
    last, validation = read_journal(tmp_path / "early" / "journal.jsonl")[-2:]
    assert (summary.updates, summary.tokens) == (update, last["tokens"])
    assert [(line["update"], key in line) for line, key in ((last, "loss"), (validation, "valid/loss"))] == [
        (update, True),
        (update, True),
    ]
    assert checkpoints(tmp_path / "early").newest().endswith(f"{update:06d}.pt")
    before = (tmp_path / "early" / "journal.jsonl").read_bytes()
    again, repeated = run(tmp_path / "early", hooks=(Ends(update),))
    assert weights(again) == weights(model)
    assert (repeated.updates, repeated.tokens) == (summary.updates, summary.tokens)
    assert (tmp_path / "early" / "journal.jsonl").read_bytes() == before


def test_a_hook_that_is_done_at_the_planned_end_or_never_changes_nothing(tmp_path: Path):
    whole, _ = run(tmp_path / "whole")
    for name, update in (("end", 30), ("never", 31)):
        model, summary = run(tmp_path / name, hooks=(Ends(update),))
        assert weights(model) == weights(whole)
        assert summary.updates == 30
        assert _journal(tmp_path / name) == _journal(tmp_path / "whole")


def test_validation_sees_the_model_in_evaluation_mode_and_training_goes_on(tmp_path: Path):
    modes = []

    def validate(model: torch.nn.Module) -> dict[str, float]:
        modes.append((model.training, torch.is_grad_enabled()))
        return {}

    (first, _), (second, _) = run(tmp_path / "a", validate=validate), run(tmp_path / "b")
    assert modes == [(False, False)] * 2
    assert weights(first) == weights(second)
    assert not first.training


def test_frozen_parameters_keep_their_bytes(tmp_path: Path):
    model = make_model()
    model.decoder.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    run(tmp_path, updates=8, model=model, optimiser=adam(model))
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed
    assert not any(name.startswith("decoder.") for name in changed)


def test_a_branch_of_a_kept_checkpoint_goes_on_like_the_run_itself(tmp_path: Path):
    whole, summary = run(tmp_path / "whole", keep=(11,))
    state = read(tmp_path / "whole" / "checkpoints" / "update-000011.pt")
    start = branch(state, model=state["model"], moments=state["moments"])
    ticket, branched = run(tmp_path / "ticket", start=start)
    assert weights(whole) == weights(ticket)
    assert (branched.updates, branched.tokens) == (summary.updates, summary.tokens)
    assert [line["update"] for line in _journal(tmp_path / "ticket")] == [15, 15, 20, 30, 30]


def test_bfloat16_trains_float32_weights(tmp_path: Path):
    model, _ = run(tmp_path, updates=4, precision="bfloat16")
    assert {value.dtype for value in model.state_dict().values()} == {torch.float32}
    assert all(torch.isfinite(value).all() for value in model.state_dict().values())


def test_checkpoints_load_on_the_safe_setting_with_plain_names(tmp_path: Path):
    model, _ = run(tmp_path, updates=8)
    state = checkpoints(tmp_path).latest()
    assert state is not None
    assert list(state["model"]) == list(model.state_dict())
    assert set(state["moments"]["exp_avg"]) == {name for name, _ in model.named_parameters()}
