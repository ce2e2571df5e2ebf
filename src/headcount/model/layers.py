"""Encoder and decoder layers: attention and feed-forward sub-layers in residual connections, pre-norm or post-norm."""

# mypy: disable-error-code="no-any-return"
# A module's call returns Any.

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor, nn

from headcount.model.attention import KeysValues, Linear, Mask, MultiHeadAttention
from headcount.model.cache import Past
from headcount.model.dropout import add_dropout, relu_dropout
from headcount.model.shape import AlphaOptions, ModelConfig
from headcount.registry import load

NORM_EPSILON = 1e-6
"""As in the code of voita2019 and correia2019; PyTorch's default is 1e-5."""


def layer_norm(config: ModelConfig) -> nn.LayerNorm:
    """Build the norm over the model's width."""
    return nn.LayerNorm(config.width, eps=NORM_EPSILON)


def attention(config: ModelConfig, kind: str, layer: int) -> MultiHeadAttention:
    """Build the attention of one layer with the heads and the normaliser that the config gives it."""
    kept = config.kept[kind][layer]
    plugin = load("model.normalise", config.normalisers[kind])
    built = MultiHeadAttention(
        width=config.width,
        head_width=config.head_width,
        kept=kept,
        normaliser=plugin.Normaliser(len(kept), AlphaOptions(**config.alpha)),
        dropout=config.attention_dropout,
    )
    built.normaliser.requires_grad_(bool(kept))  # also an α that the heads would share
    return built


class Residual(nn.Module):
    """The connection around a sub-layer: norm before it (pre) or after the sum (post), dropout on its output."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = layer_norm(config)
        self.pre = config.norm == "pre"
        self.dropout = config.dropout

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Add the sub-layer's output to [batch, position, width]."""
        change = sublayer(self.norm(states) if self.pre else states)
        total = add_dropout(states, change, self.dropout, self.training)
        return total if self.pre else self.norm(total)


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        glorot = math.sqrt(6 / (config.width + config.feed_forward))
        self.inner = Linear(config.width, config.feed_forward, glorot)
        self.outer = Linear(config.feed_forward, config.width, glorot)
        self.dropout = config.dropout

    def forward(self, states: Tensor) -> Tensor:
        """Map each position of [batch, position, width] by itself."""
        hidden = relu_dropout(self.inner(states), self.dropout, self.training)  # [batch, position, feed_forward]
        return self.outer(hidden)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.self_attention = attention(config, "encoder", layer)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, states: Tensor, mask: Mask) -> Tensor:
        """[batch, source, width] -> [batch, source, width]."""

        def attend(states: Tensor) -> Tensor:
            return self.self_attention(states, self.self_attention.project(states), mask)

        states = self.self_residual(states, attend)
        return self.feed_forward_residual(states, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention over the target's past, cross-attention to the source, then feed-forward."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.self_attention = attention(config, "decoder_self", layer)
        self.self_residual = Residual(config)
        self.cross_attention = attention(config, "decoder_cross", layer)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self, states: Tensor, memory: KeysValues, own_mask: Mask, memory_mask: Mask, past: Past | None = None
    ) -> Tensor:
        """[batch, target, width] -> [batch, target, width].

        Args:
            states: whole targets, or with a `past` only the newest position of each hypothesis.
            memory: the source as `cross_attention.project` sees it, for [sentence] <= batch: several hypotheses of one
                sentence follow each other in the batch and are queries to the same memory.
            own_mask: of the self-attention.
            memory_mask: of the cross-attention.
            past: keys and values of the earlier positions; the newest are appended.

        """

        def attend_past(states: Tensor) -> Tensor:
            own = self.self_attention.project(states)
            return self.self_attention(states, own if past is None else past.append(own), own_mask)

        def attend_source(states: Tensor) -> Tensor:
            return self.cross_attention(states, memory, memory_mask)

        states = self.self_residual(states, attend_past)
        states = self.cross_residual(states, attend_source)
        return self.feed_forward_residual(states, self.feed_forward)
