"""The one attention of all three papers: multi-head attention with a normaliser, a gate and an observer.

Dimension names in this package: batch (sentences, or hypotheses when decoding), head, query and key (positions), width
(of the model), channel (of one head), vocabulary. Masks are boolean, True = may attend.
"""

# mypy: disable-error-code="no-any-return"
# A module's call returns Any.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from headcount.model import short
from headcount.model.dropout import dropout
from headcount.model.entmax import Mapping
from headcount.model.normalise.softmax import Normaliser as Softmax
from headcount.model.products import linear
from headcount.model.thresholds import eager_on_cpu

Observer = Callable[[Tensor, Tensor, Tensor], None]
"""Called with weights [batch, head, query, key] before dropout, real queries [batch, query], real keys [batch, key]."""


FEW_QUERIES = range(2, 17)
"""Numbers of queries, as the hypotheses of a beam, for which a CPU's fused kernel is slower than step by step."""


class KeysValues(NamedTuple):
    """What queries attend to; in decoding this is the cache."""

    keys: Tensor  # [batch, head, key, channel]
    values: Tensor  # [batch, head, key, channel]


class Mask(NamedTuple):
    """Which positions are real and which key each query may attend to."""

    queries: Tensor  # [batch, query], True = no padding
    keys: Tensor  # [batch, key], True = no padding
    allowed: Tensor | None  # [batch or 1, 1, query or 1, key], True = may attend; None allows everything
    causal: bool  # `allowed` is the lower triangle, which the fused kernel knows without reading it

    @classmethod
    def real_keys(cls, queries: Tensor, keys: Tensor) -> Mask:
        """Every query may attend to every real key."""
        unpadded = keys.device.type == "cpu" and bool(keys.all())  # a GPU would have to wait for the answer
        return cls(queries, keys, None if unpadded else keys[:, None, None, :], causal=False)

    @classmethod
    def earlier_keys(cls, tokens: Tensor) -> Mask:
        """Every position may attend to itself and to those before it; padding follows the real tokens."""
        length = tokens.shape[1]
        triangle = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()
        return cls(tokens, tokens, triangle[None, None], causal=True)


class Linear(nn.Linear):
    """A linear map with weights from U(-bound, bound) and zero bias; either side may be empty."""

    def __init__(self, inputs: int, outputs: int, bound: float) -> None:
        self.bound = bound  # PyTorch's constructor below calls reset_parameters
        super().__init__(inputs, outputs)

    def reset_parameters(self) -> None:
        """Draw the initial weights."""
        nn.init.uniform_(self.weight, -self.bound, self.bound)
        nn.init.zeros_(self.bias)

    def forward(self, states: Tensor) -> Tensor:
        """[batch, position, input] -> [batch, position, output]."""
        return linear(states, self.weight, self.bias)


class MultiHeadAttention(nn.Module):
    """Attention of the heads that a layer still has; there may be none.

    Args:
        width: of the model.
        head_width: channels of one head, the same before and after heads are removed.
        kept: original ids of the heads.
        normaliser: maps scores and mask to weights, see `normalise.softmax`.
        dropout: on the attention weights.

    Attributes:
        gate: module that returns one factor per head, multiplied into the head's output before the output projection,
            so that the bias of that projection is not gated (Voita et al. 2019, section 6.1); None for ungated heads.
        observer: sees the weights of each call of a layer with heads; None leaves the choice of the kernel free.

    """

    def __init__(
        self, *, width: int, head_width: int, kept: Sequence[int], normaliser: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.head_width = head_width
        self.kept = list(kept)
        inner = len(self.kept) * head_width
        glorot = math.sqrt(6 / (width + width))  # of all heads together: a head starts alike whatever is beside it
        self.query = Linear(width, inner, glorot)
        self.key = Linear(width, inner, glorot)
        self.value = Linear(width, inner, glorot)
        self.output = Linear(inner, width, glorot)
        self.normaliser = normaliser
        self.dropout = dropout
        self.gate: nn.Module | None = None
        self.observer: Observer | None = None
        for parameter in self.parameters():
            parameter.requires_grad_(parameter.numel() > 0)  # without heads there is nothing to train but the bias

    def project(self, states: Tensor) -> KeysValues:
        """Compute keys and values of [batch, key, width]."""
        return KeysValues(self._split(self.key(states)), self._split(self.value(states)))

    def forward(self, states: Tensor, memory: KeysValues, mask: Mask) -> Tensor:
        """Attend from `states` [batch, query, width] to `memory`; returns [batch, query, width].

        A query without any key gets the constant bias of the output projection, and so does every query of a layer
        without heads: a removed head is a masked head.
        """
        if not self.kept:
            return self.output(states[..., :0])
        queries = self._split(self.query(states))  # [batch, head, query, channel]
        mixed = self._mixed(queries, memory, mask)
        if self.gate is not None:
            mixed = mixed * self.gate()[:, None, None].to(mixed.dtype)  # [batch, head, query, channel]
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _split(self, projected: Tensor) -> Tensor:
        """[batch, position, head * channel] -> [batch, head, position, channel]."""
        batch, length, _ = projected.shape
        return projected.view(batch, length, len(self.kept), self.head_width).transpose(1, 2)

    def _mixed(self, queries: Tensor, memory: KeysValues, mask: Mask) -> Tensor:
        """[batch, head, query, channel] -> [batch, head, query, channel], by the fastest of three ways."""
        if self.observer is None:
            undropped = self.dropout == 0.0 or not self.training
            if undropped and short.suits(queries, memory.keys) and (mapping := self._mapping()):
                return short.attend(queries, *memory, mask.allowed, mapping)
            few = eager_on_cpu(queries) and not torch.is_grad_enabled() and queries.shape[2] in FEW_QUERIES
            if isinstance(self.normaliser, Softmax) and not few:
                return self._fused(queries, memory, mask)
        return self._explicit(queries, memory, mask)

    def _mapping(self) -> Mapping | None:
        """Return what the normaliser does, where it says so beside `forward`."""
        known: Callable[[], Mapping | None] | None = getattr(self.normaliser, "mapping", None)
        return known() if known else None

    def _fused(self, queries: Tensor, memory: KeysValues, mask: Mask) -> Tensor:
        """Softmax attention that never stores the weights; PyTorch gives zeros to a query without any key."""
        return F.scaled_dot_product_attention(
            queries,
            memory.keys,
            memory.values,
            attn_mask=None if mask.causal else mask.allowed,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=mask.causal,
        )

    def _explicit(self, queries: Tensor, memory: KeysValues, mask: Mask) -> Tensor:
        """normaliser(Q K^T / sqrt(channels)) V, step by step."""
        scores = (queries * self.head_width**-0.5) @ memory.keys.transpose(-2, -1)  # [batch, head, query, key]
        weights = self.normaliser(scores, mask.allowed)  # [batch, head, query, key]
        if self.observer is not None:
            self.observer(weights, mask.queries, mask.keys)
        weights = dropout(weights, self.dropout, self.training).to(memory.values.dtype)
        return weights @ memory.values  # [batch, head, query, channel]
