"""What must be equal on a GPU: each check yields names, differences and what is allowed."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.gpu_bench import CPU, RATE, Bench, translated
from benchmarks.update import adam_of
from headcount.data.batching import make_batch
from headcount.errors import InterruptedRun
from headcount.model.normalise import entmax_alpha
from headcount.model.shape import AlphaOptions
from headcount.model.transformer import Transformer
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.device import compiled
from headcount.train.hooks import NoHook
from headcount.train.journal import Journal
from headcount.train.loop import train
from headcount.train.loss import batch_loss
from headcount.vocabulary import PAD

Differences = Iterator[tuple[str, float, float]]


def check_attention(bench: Bench) -> Differences:
    """Compare the fused kernel with the plain formula."""
    model, batch = bench.model(bench.first(), dropout=0.0).eval(), bench.batches.at(0)
    inputs = (batch.source.to(bench.device), batch.target_input.to(bench.device))
    with torch.no_grad():
        fused = model.hidden(*inputs)
        for attention in model.attentions().values():
            attention.observer = lambda *_: None  # who wants to see the weights gets the plain formula
        real = (batch.target_output != PAD).to(bench.device)
        yield "fused_attention", _largest(fused[real], model.hidden(*inputs)[real]), 1e-4


def check_entmax(bench: Bench) -> Differences:
    """Compare weights and gradients of α-entmax on this device and on the CPU."""
    torch.manual_seed(1)
    scores, upstream = torch.randn(2, 4, 8, 16, 24)
    mask = torch.arange(24) < torch.tensor([24, 20, 7, 1])[:, None, None, None]  # [batch, 1, 1, key]
    found = []
    for device in (CPU, bench.device):
        torch.manual_seed(2)
        normaliser = entmax_alpha.Normaliser(8, AlphaOptions()).to(device)
        inputs = scores.to(device).requires_grad_()
        weights = normaliser(inputs, mask.to(device))
        weights.backward(upstream.to(device))
        assert inputs.grad is not None
        assert normaliser.a.grad is not None
        found.append([weights.detach().cpu(), inputs.grad.cpu(), normaliser.a.grad.cpu()])
    for name, one, other in zip(("weights", "gradient", "gradient_of_alpha"), *found, strict=True):
        yield f"entmax_{name}", _largest(one, other), 1e-4


def check_gradients(bench: Bench) -> Differences:
    """Compare loss and gradients of a whole model on this device and on the CPU."""
    batch, found = make_batch(bench.corpus, range(8)), []
    for device in (CPU, bench.device):
        model = bench.model(bench.first(), dropout=0.0).to(device)
        loss, _ = batch_loss(model, batch, smoothing=0.1, device=device)
        (loss / batch.target_tokens).backward()
        flat = torch.cat([p.grad.flatten().cpu() for p in model.parameters() if p.grad is not None])
        found.append((loss.detach().cpu() / batch.target_tokens, flat))
    yield "loss", _largest(found[0][0], found[1][0]), 1e-4
    yield "gradients", float((found[0][1] - found[1][1]).norm() / found[0][1].norm()), 1e-3


def check_decoding(bench: Bench) -> Differences:
    """Count the translations that differ on this device and on the CPU, as a share."""
    model, sources = bench.model(bench.first()), [bench.corpus.source(n).tolist() for n in range(16)]
    for name, beam in (("greedy", 1), ("beam4", 4)):
        here = translated(model.to(bench.device), sources, beam, 16)
        there = translated(model.to(CPU), sources, beam, 16)
        yield f"decode_{name}", sum(a != b for a, b in zip(here, there, strict=True)) / len(sources), 0.1


def check_bfloat16(bench: Bench) -> Differences:
    """See that a training in bfloat16 lowers the loss: loss at the end over loss at the start."""
    model = bench.model(bench.first(), dropout=0.0)
    losses, _ = bench.steps(model, model.hidden, "bfloat16", 20)
    yield "bfloat16_loss_ratio", losses[-1] / losses[0], 0.98


def check_compiled(bench: Bench) -> Differences:
    """Compare the losses of a compiled training with those of a plain one."""
    found = []
    for backend in ("", bench.size.backend):
        model = bench.model(bench.first(), dropout=0.0)
        hidden = compiled(model, backend) if backend else model.hidden
        found.append(torch.tensor(bench.steps(model, hidden, "float32", 4)[0]))
    yield "compiled_losses", _largest(*found), 1e-3


def check_resume(bench: Bench) -> Differences:
    """Compare a training that was stopped in the middle with one that was not; a GPU's sums have no fixed order."""
    weights = []
    for stops in ((), (3,)):
        with tempfile.TemporaryDirectory() as folder:
            for stop in (*stops, 0):
                model = bench.model(bench.first())
                with contextlib.suppress(InterruptedRun):
                    _train(bench, model, Path(folder), stop)
        weights.append(torch.cat([p.detach().flatten().cpu() for p in model.parameters()]))
    yield "resume", float((weights[0] - weights[1]).norm() / weights[0].norm()), 1e-3


def _train(bench: Bench, model: Transformer, folder: Path, stop: int) -> None:
    class Stops(NoHook):
        def loss_term(self, update: int) -> None:
            if update == stop:
                signal.raise_signal(signal.SIGTERM)

    train(
        model,
        bench.batches,
        optimiser=adam_of(model, RATE),
        average=Average(updates=6, points=1, every_updates=1),
        seed=1,
        updates=6,
        accumulate_batches=1,
        label_smoothing=0.1,
        clip_norm=1.0,
        skipped_updates=0,
        precision="auto",
        journal=Journal(folder / "journal.jsonl"),
        checkpoints=Checkpoints(folder, identity="", rhythm=Rhythm(1000, 1e6)),
        validate=lambda model: {},
        validate_every_updates=1000,
        hooks=[Stops()],
    )


def _largest(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())
