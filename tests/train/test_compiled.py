"""The compiled step is the plain one; checkpoints know nothing of it (the compiler's own backends run on a CPU too)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_training import corpus, make_model, run, weights

from headcount.data.batching import TokenBatches
from headcount.model.attention import Mask
from headcount.train import loop
from headcount.train.checkpoint import read
from headcount.train.device import ALIGNED, COMPILED_FROM_UPDATES, compiled, hidden_for
from headcount.train.loss import batch_loss
from headcount.train.optim import Group, NamedAdam, constant, trainable

CPU = torch.device("cpu")


class Counting:
    """A backend that runs graphs as they are and counts them."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: torch.fx.GraphModule, _: Any) -> Any:
        self.graphs += 1
        return graph.forward


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks do not look at their values, as on a GPU; no graph of another test is known."""
    blind = classmethod(lambda cls, queries, keys: cls(queries, keys, keys[:, None, None, :], causal=False))
    monkeypatch.setattr(Mask, "real_keys", blind)
    torch._dynamo.reset()


def test_a_training_with_the_compiled_step_equals_the_plain_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trained = {}
    for backend in ("", "aot_eager"):
        model = make_model(dropout=0.0).double()
        with monkeypatch.context() as patch:
            if backend:
                patch.setattr(loop, "hidden_for", lambda model, updates, backend=backend: compiled(model, backend))
            rate = functools.partial(constant, rate=5e-3)
            adam = NamedAdam([Group(trainable(model), rate)], beta1=0.9, beta2=0.98)
            run(tmp_path / f"run-{backend}", model=model, optimiser=adam, updates=4, average_points=1)
        trained[backend] = model.state_dict()
    torch.testing.assert_close(trained["aot_eager"], trained[""], rtol=0, atol=1e-6)
    saved = read(tmp_path / "run-aot_eager" / "checkpoints" / "update-000004.pt")["model"]
    plain = make_model(dropout=0.0).double()
    plain.load_state_dict(saved)  # strictly: the names are those of a plain model
    assert weights(plain) == weights(model)


def test_few_graphs_serve_all_shapes_of_an_epoch():
    model, backend = make_model(dropout=0.0), Counting()
    hidden = compiled(model, backend)  # type: ignore[arg-type]
    batches = TokenBatches(corpus(pairs=300, longest=40), tokens_per_batch=150, seed=1)
    shapes = set()
    for position in range(batches.batches_per_epoch):
        batch = batches.at(position).aligned(ALIGNED)
        shapes.add((tuple(batch.source.shape), batch.target_input.shape[1]))
        loss, _ = batch_loss(model, batch, smoothing=0.1, device=CPU, hidden=hidden)
        loss.backward()
    assert len(shapes) > 10
    assert backend.graphs <= 3  # one, and one where the two sides happen to be equally long


def test_padding_to_a_multiple_changes_no_loss_and_no_gradient():
    batch = TokenBatches(corpus(), tokens_per_batch=60, seed=1).at(3)
    padded = batch.aligned(ALIGNED)
    assert padded.source.shape[1] % ALIGNED == padded.target_output.shape[1] % ALIGNED == 0
    assert padded.target_tokens == batch.target_tokens
    found = []
    for each in (batch, padded):
        model = make_model(dropout=0.0)
        loss, _ = batch_loss(model, each, smoothing=0.1, device=CPU)
        loss.backward()
        found.append([loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-5, atol=1e-6)


def test_a_step_that_cannot_be_compiled_is_made_as_it_is(caplog: pytest.LogCaptureFixture):
    def broken(graph: torch.fx.GraphModule, _: Any) -> Any:
        raise RuntimeError("no compiler here")

    model = make_model(dropout=0.0)
    hidden = compiled(model, broken)  # type: ignore[arg-type]
    batch = TokenBatches(corpus(), tokens_per_batch=60, seed=1).at(0)
    for _ in range(2):
        assert torch.equal(hidden(batch.source, batch.target_input), model.hidden(batch.source, batch.target_input))
    assert caplog.text.count("training goes on uncompiled") == 1


def test_a_cpu_never_compiles():
    model = make_model()
    assert hidden_for(model, COMPILED_FROM_UPDATES) == model.hidden
