"""A Transformer's forward pass in operations whose backward pass is a rule of relevance, with a meter on each head.

The modules and their weights are the model's; only the operations are replaced. Every generation step has to be
propagated by itself, because the shares of the heads are formed step by step (voita2019 section 4): one backward pass
a step, for all sentences of the batch at once. Memory is that of one forward and one backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from headcount.model.attention import Mask, MultiHeadAttention
from headcount.model.layers import FeedForward, Residual
from headcount.model.transformer import Transformer
from headcount.observe.relevance.rules import Gradient, Rule
from headcount.vocabulary import PAD

Place = tuple[str, int]
"""Attention type and layer."""


@contextmanager
def frozen(model: Transformer) -> Iterator[None]:
    """Put the model in evaluation mode and make its parameters constants, until the block ends."""
    training = model.training
    trained = [parameter.requires_grad for parameter in model.parameters()]
    model.eval().requires_grad_(False)
    try:
        yield
    finally:
        model.train(training)
        for parameter, requires_grad in zip(model.parameters(), trained, strict=True):
            parameter.requires_grad_(requires_grad)


class Pass:
    """One forward pass, teacher-forced; the model must be in evaluation mode.

    Args:
        model: any Transformer, also one with gates or without the heads of some layer.
        rules: of the backward pass.
        source: ids [batch, source].
        target_input: ids [batch, target].

    Attributes:
        embedded: what the encoder and the decoder start from, [batch, position, width].
        gauges: ones [batch, head] for each attention that has heads; their gradient is the relevance of the heads'
            gated outputs, summed over positions and channels.
        hidden: the decoder's last states [batch, target, width].

    """

    def __init__(self, model: Transformer, rules: Gradient | Rule, source: Tensor, target_input: Tensor) -> None:
        self.rules = rules
        self.gauges: dict[Place, Tensor] = {}
        self._output_weight = model.output_weight
        inputs, outputs = source != PAD, target_input != PAD
        sides = (model._embed(source, "source", 0), model._embed(target_input, "target", 0))
        self.embedded = tuple(side.requires_grad_() for side in sides)  # every output then depends on something
        memory, states = self.embedded
        mask = Mask.real_keys(inputs, inputs)
        for index, layer in enumerate(model.encoder):
            normed = self._open(layer.self_residual, memory)
            change = self._attend(layer.self_attention, normed, normed, mask, ("encoder", index))
            memory = self._close(layer.self_residual, memory, change)
            memory = self._feed_forward(layer.feed_forward, layer.feed_forward_residual, memory)
        memory = self._norm(memory, model.encoder.norm)
        own_mask, memory_mask = Mask.earlier_keys(outputs), Mask.real_keys(outputs, inputs)
        for index, block in enumerate(model.decoder):
            normed = self._open(block.self_residual, states)
            change = self._attend(block.self_attention, normed, normed, own_mask, ("decoder_self", index))
            states = self._close(block.self_residual, states, change)
            normed = self._open(block.cross_residual, states)
            change = self._attend(block.cross_attention, normed, memory, memory_mask, ("decoder_cross", index))
            states = self._close(block.cross_residual, states, change)
            states = self._feed_forward(block.feed_forward, block.feed_forward_residual, states)
        self.hidden = self._norm(states, model.decoder.norm)

    def top_logits(self) -> Tensor:
        """Return the largest logit of each step, [batch, target]."""
        with torch.no_grad():
            best = F.linear(self.hidden, self._output_weight).argmax(-1)  # [batch, target]
        rows = self._output_weight[best][:, :, None]  # [batch, target, 1, width]
        return self.rules.linear(self.hidden[:, :, None], rows)[..., 0, 0]

    def _attend(
        self, attention: MultiHeadAttention, states: Tensor, memory: Tensor, mask: Mask, place: Place
    ) -> Tensor:
        """Return the attention's output [batch, query, width]; a layer without heads gives its bias."""
        weight, bias = attention.output.weight, attention.output.bias
        if not attention.kept:
            return self.rules.linear(states[..., :0], weight, bias)
        queries, keys, values = (
            projected.view(*projected.shape[:2], len(attention.kept), attention.head_width).transpose(1, 2)
            for projected in (
                attention.query(states),
                attention.key(memory),
                self.rules.linear(memory, attention.value.weight, attention.value.bias),
            )
        )  # [batch, head, position, channel]
        scores = (queries * attention.head_width**-0.5) @ keys.mT  # [batch, head, query, key]
        weights = self.rules.weights(attention.normaliser(scores, mask.allowed))
        mixed = self.rules.linear(values.mT, weights).mT  # [batch, head, query, channel]
        if attention.gate is not None:
            mixed = self.rules.scale(mixed, attention.gate()[:, None, None])
        self.gauges[place] = mixed.new_ones(mixed.shape[:2]).requires_grad_()
        mixed = self.rules.meter(mixed, self.gauges[place])
        return self.rules.linear(mixed.transpose(1, 2).flatten(2), weight, bias)

    def _feed_forward(self, part: FeedForward, residual: Residual, states: Tensor) -> Tensor:
        inner = self.rules.linear(self._open(residual, states), part.inner.weight, part.inner.bias)
        change = self.rules.linear(self.rules.relu(inner), part.outer.weight, part.outer.bias)
        return self._close(residual, states, change)

    def _open(self, residual: Residual, states: Tensor) -> Tensor:
        return self._norm(states, residual.norm) if residual.pre else states

    def _close(self, residual: Residual, states: Tensor, change: Tensor) -> Tensor:
        total = self.rules.add(states, change)
        return total if residual.pre else self._norm(total, residual.norm)

    def _norm(self, states: Tensor, norm: nn.Module) -> Tensor:
        return self.rules.norm(states, norm) if isinstance(norm, nn.LayerNorm) else states


def step_relevance(
    model: Transformer, rules: Gradient | Rule, source: Tensor, target_input: Tensor
) -> dict[Place, Tensor]:
    """Return the relevance of each head for the top-1 logit of every generation step, [batch, step, head]."""
    run = Pass(model, rules, source, target_input)
    logits = run.top_logits()
    start = rules.start(logits)
    gauges = list(run.gauges.values())
    steps = [
        torch.autograd.grad(logits[:, step], gauges, start[:, step], retain_graph=True, materialize_grads=True)
        for step in range(logits.shape[1] if gauges else 0)
    ]
    return {place: torch.stack(parts, dim=1) for place, parts in zip(run.gauges, zip(*steps, strict=True), strict=True)}
