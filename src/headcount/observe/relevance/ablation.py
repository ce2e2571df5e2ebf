"""What the loss says of each head: its derivative by the head's gate, and its rise when the head is masked."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from headcount.data.batching import Batch
from headcount.model.attention import MultiHeadAttention
from headcount.model.gates import FixedGate
from headcount.model.transformer import Transformer
from headcount.observe.relevance.propagate import Pass, Place
from headcount.observe.relevance.rules import Gradient
from headcount.vocabulary import PAD


def gate_gradients(model: Transformer, batch: Batch) -> dict[Place, Tensor]:
    """Return |dL / dg| of each sentence's loss L and head's gate g, [batch, head] (Michel et al. 2019)."""
    run = Pass(model, Gradient(), batch.source, batch.target_input)
    gauges = list(run.gauges.values())
    loss = _loss(run.hidden, model, batch).sum()
    found = torch.autograd.grad(loss, gauges, materialize_grads=True) if gauges else ()
    return {place: gradient.abs() for place, gradient in zip(run.gauges, found, strict=True)}


@torch.no_grad()
def loss_rises(model: Transformer, batch: Batch) -> dict[Place, Tensor]:
    """Return by how much each sentence's loss rises when one head alone is masked, [batch, head], in nats."""
    real = batch.source != PAD
    memory = model.encode(batch.source)
    before = _loss(model.decode_hidden(batch.target_input, memory, real), model, batch)  # [batch]
    rises: dict[Place, Tensor] = {}
    for (kind, layer), attention in model.attentions().items():
        gate, factors = attention.gate, _factors(attention)
        found: list[Tensor] = []
        try:
            for head in range(len(factors)):
                masked = [0.0 if index == head else factor for index, factor in enumerate(factors)]
                attention.gate = FixedGate(masked).to(memory.device)
                seen = model.encode(batch.source) if kind == "encoder" else memory
                found.append(_loss(model.decode_hidden(batch.target_input, seen, real), model, batch) - before)
        finally:
            attention.gate = gate
        if found:
            rises[kind, layer] = torch.stack(found, dim=1)
    return rises


def _loss(hidden: Tensor, model: Transformer, batch: Batch) -> Tensor:
    """Return the negative log likelihood of each reference, [batch], summed over its pieces, in nats."""
    real = batch.target_output != PAD
    logits = F.linear(hidden[real], model.output_weight)  # [token, vocabulary]
    losses = F.cross_entropy(logits, batch.target_output[real], reduction="none")  # [token]
    sentences = real.nonzero()[:, 0]  # [token]
    return losses.new_zeros(len(real)).index_add(0, sentences, losses)


def _factors(attention: MultiHeadAttention) -> list[float]:
    """Return what the heads are multiplied by already, [head]."""
    if attention.gate is None:
        return [1.0] * len(attention.kept)
    factors: list[float] = attention.gate().tolist()
    return factors
