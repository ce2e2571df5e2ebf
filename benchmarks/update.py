"""One update of a model as the training loop makes it, without what surrounds it there."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import torch

from headcount.data.batching import Batch
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.train.device import Hidden, autocast
from headcount.train.loss import batch_loss
from headcount.train.optim import Group, NamedAdam, constant, trainable


def adam_of(model: Transformer, rate: float) -> NamedAdam:
    """Build the optimiser of all parameters."""
    return NamedAdam([Group(trainable(model), functools.partial(constant, rate=rate))], beta1=0.9, beta2=0.98)


def make_update(
    model: Transformer,
    optimiser: NamedAdam,
    update: int,
    batch: Batch,
    *,
    precision: str = "float32",
    hidden: Hidden | None = None,
) -> torch.Tensor:
    """Make one update: forward, backward, clipping, Adam; return the loss for each target token, on the device."""
    device = model.output_weight.device
    optimiser.zero_grad()
    with autocast(device, precision):
        loss, _ = batch_loss(model, batch, smoothing=0.1, device=device, hidden=hidden)
    mean = loss / batch.target_tokens
    torch.autograd.backward(mean)
    optimiser.step(update, clip_norm=1.0, loss=loss.detach())
    return mean.detach()


def training(config: ModelConfig) -> Callable[[Batch], None]:
    """Build a model on the CPU, from a fixed seed, and return what makes one update of it after the other."""
    torch.manual_seed(1)
    model = Transformer(config).train()
    optimiser, updates = adam_of(model, 1e-4), itertools.count(1)

    def step(batch: Batch) -> None:
        make_update(model, optimiser, next(updates), batch)

    return step
