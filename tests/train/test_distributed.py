"""Two processes that train one model make the updates of one; whatever happens to one of them, both end."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_training import corpus, kill, make_model, run, terminate

from headcount.data.batching import make_batch
from headcount.errors import InterruptedRun, UserError
from headcount.model.transformer import Transformer
from headcount.pruning.control import Control
from headcount.pruning.l0 import L0Hook, attach
from headcount.train import distributed
from headcount.train.checkpoint import Rhythm, read
from headcount.train.distributed import ALONE, Ranks, joined
from headcount.train.hooks import Hook, NoHook
from headcount.train.journal import read as read_journal
from headcount.train.optim import Group, NamedAdam, constant, trainable
from headcount.vocabulary import PAD

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["headcount.train.loop", "headcount.model.transformer", "headcount.pruning.l0"])

LIMIT_SECONDS = 60
"""Whatever happens, both ranks have ended by then."""

NOBODY, FIRST, SECOND = -1, 0, 1

Action = Callable[[], None]


class OnRank(NoHook):
    """Do something on one rank in the middle of an update, and note the seed from which this rank draws."""

    def __init__(self, ranks: Ranks, rank: int, update: int, action: Action, folder: Path) -> None:
        self.due = update if ranks.rank == rank else None
        self.action, self.seeds = action, folder / f"seeds-{ranks.rank}"

    def loss_term(self, update: int) -> None:
        with self.seeds.open("a") as seeds:
            seeds.write(f"{torch.initial_seed()}\n")
        if update == self.due:
            self.action()


def other_weights(model: Transformer) -> None:
    with torch.no_grad():
        model.output_weight[0, 0] += 1e-6


class SlowOnce:
    """A validation that takes long, the first time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, model: Transformer) -> dict[str, float]:
        time.sleep(self.seconds)
        self.seconds = 0
        return {"valid/loss": 1.0}


def stopped_validation(model: Transformer) -> dict[str, float]:
    terminate()
    return {"valid/loss": 1.0}


def freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def train(
    ranks: Ranks,
    folder: Path,
    *,
    penalty: float = 0.0,
    rank: int = NOBODY,
    update: int = 0,
    action: Action = kill,
    differs: bool = False,
    **options: Any,
) -> None:
    """Train in float64: where a gradient is 0 but for rounding, Adam makes a whole step of the rounding."""
    model = make_model(dropout=0.0)
    hooks: list[Hook] = [OnRank(ranks, rank, update, action, folder)]
    if penalty:
        law: dict[str, Any] = {"temperature": 0.33, "low": -0.1, "high": 1.1, "at_test": "binary"}
        attach(model, scope="all", initial_log_alpha=0.5, initial_spread=0.5, seed=1, **law)
        hooks.append(
            L0Hook(model, Control(penalty, target_heads=2, gate_learning_rate=0.05, settled_updates=0)),
        )
    model = model.double()
    if differs and not ranks.first:
        other_weights(model)
    adam = NamedAdam([Group(trainable(model), functools.partial(constant, rate=5e-3))], beta1=0.9, beta2=0.98)
    _, summary = run(folder, model=model, hooks=hooks, ranks=ranks, optimiser=adam, **{"updates": 11, **options})
    torch.save((summary.updates, summary.tokens, model.state_dict()), folder / f"rank-{ranks.rank}.pt")


def as_rank(rank: int, port: int, folder: Path, answer_seconds: float, options: dict[str, Any]) -> None:
    """What a process does that torchrun started; the errors for people are kept beside the results."""
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.ANSWER_SECONDS = answer_seconds
    try:
        with joined() as ranks:
            train(ranks, folder, **options)
    except (UserError, InterruptedRun) as error:
        (folder / f"error-{rank}").write_text(str(error))
        raise SystemExit(error.status) from None


def two_ranks(folder: Path, answer_seconds: float = 30.0, **options: Any) -> list[int | None]:
    """Train on two ranks and return how they ended; None: one had not, by the limit."""
    folder.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [
        PROCESSES.Process(target=as_rank, args=(rank, port, folder, answer_seconds, options)) for rank in range(2)
    ]
    for process in processes:
        process.start()
    frozen = options.get("action") is freeze
    deadline = time.monotonic() + LIMIT_SECONDS
    for process in processes[:1] if frozen else processes:
        process.join(max(deadline - time.monotonic(), 0.1))
    ended = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
        process.join()
    return ended


def results(folder: Path, rank: int = 0) -> tuple[int, int, dict[str, torch.Tensor]]:
    updates, tokens, weights = torch.load(folder / f"rank-{rank}.pt", weights_only=True)
    return updates, tokens, weights


def journal(folder: Path) -> list[dict[str, Any]]:
    """The journal without its clock."""
    lines = read_journal(folder / "journal.jsonl")
    return [{key: value for key, value in line.items() if "second" not in key} for line in lines]


def assert_equal_runs(found: Path, wanted: Path) -> None:
    for rank in range(2):
        updates, tokens, weights = results(found, rank)
        assert (updates, tokens) == results(wanted)[:2]
        torch.testing.assert_close(weights, results(wanted)[2], rtol=0, atol=1e-9)
    assert len(journal(found)) == len(journal(wanted))
    for line, expected in zip(journal(found), journal(wanted), strict=True):
        assert line == pytest.approx(expected, rel=1e-9, abs=1e-9) if "gates" not in line else True
        assert line["update"] == expected["update"]
    first, second = (results(found, rank)[2] for rank in range(2))
    assert all(torch.equal(value, second[name]) for name, value in first.items())


@pytest.mark.parametrize(
    "options",
    [
        {"data": corpus(47), "tokens_per_batch": 40},
        {"data": corpus(20), "tokens_per_batch": 9, "accumulate_batches": 3},  # batches of a single pair
        {"data": corpus(3), "tokens_per_batch": 32},
        {"data": corpus(20), "tokens_per_batch": 9, "accumulate_batches": 2, "penalty": 0.05},
    ],
    ids=["uneven batches", "ranks without a pair", "three pairs", "gates"],
)
def test_two_ranks_make_the_updates_of_one(tmp_path: Path, options: dict[str, Any]):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    train(ALONE, one, **options)
    assert two_ranks(two, **options) == [0, 0]
    assert_equal_runs(two, one)
    assert sorted(path.name for path in (two / "checkpoints").iterdir()) == ["update-000008.pt", "update-000011.pt"]


def test_shares_are_all_of_a_batch_and_a_rank_without_a_pair_gets_padding():
    batch = make_batch(corpus(), range(3))
    shares = [batch.share(rank, 4) for rank in range(4)]
    assert [share.sentences.tolist() for share in shares] == [[0], [1], [2], []]
    assert sum(share.target_tokens for share in shares) == batch.target_tokens
    assert (shares[3].target_input == PAD).all()
    assert (shares[3].source[0] != PAD).any()
    for share in shares[:3]:
        for part in ("source", "target_input", "target_output"):
            assert torch.equal(getattr(share, part)[0], getattr(batch, part)[share.sentences[0]])


def test_each_rank_draws_dropout_from_its_own_stream(tmp_path: Path):
    assert two_ranks(tmp_path, updates=3) == [0, 0]
    first, second = ((tmp_path / f"seeds-{rank}").read_text().split() for rank in range(2))
    assert len({*first, *second}) == 6


def test_rank_0_validates_for_longer_than_a_rank_waits_for_an_answer(tmp_path: Path):
    assert two_ranks(tmp_path, answer_seconds=4.0, updates=3, validate=SlowOnce(7), validate_every_updates=2) == [0, 0]
    assert [line["update"] for line in journal(tmp_path) if "valid/loss" in line] == [2, 3]


@pytest.mark.parametrize("rank", [FIRST, SECOND])
def test_the_other_rank_names_the_one_that_died(tmp_path: Path, rank: int):
    ended = two_ranks(tmp_path, rank=rank, update=5, action=kill)
    assert ended[rank] == -signal.SIGKILL
    assert ended[1 - rank] == UserError.status
    said = (tmp_path / f"error-{1 - rank}").read_text()
    assert said.startswith(f"rank {1 - rank}: rank {rank} (process ")
    assert "has ended" in said


def test_a_rank_that_does_not_answer_ends_the_training(tmp_path: Path):
    assert two_ranks(tmp_path, answer_seconds=4.0, rank=SECOND, update=2, action=freeze) == [UserError.status, None]
    assert "no answer from one of the ranks 1 on" in (tmp_path / "error-0").read_text()


@pytest.mark.parametrize("rank", [FIRST, SECOND])
def test_a_signal_to_one_rank_stops_both_at_one_update_and_they_go_on(tmp_path: Path, rank: int):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert two_ranks(whole) == [0, 0]
    stopped = [InterruptedRun.status] * 2
    assert two_ranks(parts, rank=rank, update=5, action=terminate) == stopped
    for number in range(2):
        assert "stopped by SIGTERM after update 5;" in (parts / f"error-{number}").read_text()
    assert [path.name for path in (parts / "checkpoints").iterdir()] == ["update-000005.pt"]
    assert two_ranks(parts) == [0, 0]
    for number in range(2):
        for found, wanted in zip(results(parts, number)[2].values(), results(whole)[2].values(), strict=True):
            assert torch.equal(found, wanted)
    assert journal(parts) == journal(whole)


def test_a_signal_that_ends_the_validation_of_rank_0_stops_both(tmp_path: Path):
    options = {"validate_every_updates": 4, "validate": stopped_validation}
    assert two_ranks(tmp_path, **options) == [InterruptedRun.status] * 2
    assert read(tmp_path / "checkpoints" / "update-000004.pt")["update"] == 4


def test_ranks_save_when_the_clock_of_rank_0_says_so_under_the_names_of_one(tmp_path: Path):
    assert two_ranks(tmp_path, updates=4, rhythm=Rhythm(1000, 1e-9)) == [0, 0]
    state = read(tmp_path / "checkpoints" / "update-000003.pt")
    assert list(state["model"]) == list(make_model().state_dict())


def test_other_weights_on_another_rank_are_noticed(tmp_path: Path):
    assert UserError.status in two_ranks(tmp_path, differs=True)
    said = [path.read_text() for path in tmp_path.glob("error-*")]
    assert any("after update 0 rank 1 has other weights than rank 0" in text for text in said)
