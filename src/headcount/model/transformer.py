"""The encoder-decoder Transformer, built from a `ModelConfig` alone."""

# mypy: disable-error-code="no-any-return"
# A module's call returns Any.

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic, TypeVar

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from headcount.model.attention import KeysValues, Mask, MultiHeadAttention
from headcount.model.cache import Cache
from headcount.model.dropout import dropout
from headcount.model.layers import DecoderLayer, EncoderLayer, layer_norm
from headcount.model.shape import ATTENTION_NAMES, ModelConfig
from headcount.vocabulary import PAD

__all__ = ["ModelConfig", "Transformer", "sinusoids"]

Layer = TypeVar("Layer", EncoderLayer, DecoderLayer)

POSITIONS = 256
"""Positions that are computed at the start; longer sentences extend the table."""


class Transformer(nn.Module):
    """Translate sequences of piece ids; every sequence is padded with PAD behind its last piece.

    `embedding` holds one matrix [vocabulary, width] named `shared`, or three named `source`, `target` and `output`.
    Initial weights depend on PyTorch's global seed only.
    """

    positions: Tensor  # [position, width]

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        scale = math.sqrt(config.width)
        matrices = ("shared",) if config.tie_embeddings else ("source", "target", "output")
        self.embedding = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(config.vocabulary, config.width) / scale) for name in matrices}
        )
        self.encoder = Stack(config, [EncoderLayer(config, layer) for layer in range(config.layers_encoder)])
        self.decoder = Stack(config, [DecoderLayer(config, layer) for layer in range(config.layers_decoder)])
        self.register_buffer("positions", sinusoids(POSITIONS, config.width), persistent=False)
        for part in self.attentions().values():
            if share := getattr(part.normaliser, "share", None):  # one parameter for all attentions
                share(self)

    @property
    def output_weight(self) -> Tensor:
        """The output layer, [vocabulary, width]; there is no bias."""
        return self._matrix("output")

    def attentions(self) -> dict[tuple[str, int], MultiHeadAttention]:
        """Return the attention modules by attention type and layer."""
        found: dict[tuple[str, int], MultiHeadAttention] = {}
        for kind, name in ATTENTION_NAMES.items():
            for layer in range(len(self.config.kept[kind])):
                module = self.get_submodule(name.format(layer))
                assert isinstance(module, MultiHeadAttention)
                found[kind, layer] = module
        return found

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return logits [batch, target, vocabulary] of the piece after each position of `target_input`."""
        return F.linear(self.hidden(source, target_input), self.output_weight)

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the decoder's last states [batch, target, width], which the output layer maps to logits.

        Args:
            source: ids [batch, source].
            target_input: ids [batch, target], starting with BOS.

        """
        return self.decode_hidden(target_input, self.encode(source), source != PAD)

    def encode(self, source: Tensor) -> Tensor:
        """[batch, source] -> [batch, source, width]; states at padding mean nothing."""
        real = source != PAD
        mask = Mask.real_keys(real, real)
        states = self._embed(source, "source", 0)
        for layer in self.encoder:
            states = layer(states, mask)
        return self.encoder.norm(states)

    def decode_hidden(self, target_input: Tensor, memory: Tensor, source_mask: Tensor) -> Tensor:
        """Return the decoder's last states [batch, target, width].

        Args:
            target_input: ids [batch, target].
            memory: the encoder's states [batch, source, width].
            source_mask: [batch, source], True = no padding.

        """
        real = target_input != PAD
        own_mask, memory_mask = Mask.earlier_keys(real), Mask.real_keys(real, source_mask)
        states = self._embed(target_input, "target", 0)
        for layer in self.decoder:
            states = layer(states, layer.cross_attention.project(memory), own_mask, memory_mask)
        return self.decoder.norm(states)

    def start(self, source: Tensor) -> Cache:
        """Encode [sentence, source] for incremental decoding."""
        memory = self.encode(source)
        projected = [layer.cross_attention.project(memory) for layer in self.decoder]
        return Cache([KeysValues(*(part.contiguous() for part in layer)) for layer in projected], source != PAD)

    def step(self, pieces: Tensor, cache: Cache) -> Tensor:
        """Append one piece to each hypothesis.

        Args:
            pieces: ids [sentence, hypothesis].
            cache: extended by these pieces.

        Returns:
            Last states [sentence, hypothesis, width].

        """
        own_mask, memory_mask = cache.masks(pieces.shape[1])
        # all are at one position; the hypotheses of a sentence are queries to the same keys
        states = self._embed(pieces.flatten()[:, None], "target", cache.length).view(*pieces.shape, -1)
        for layer, memory, past in zip(self.decoder, cache.memory, cache.past, strict=True):
            states = layer(states, memory, own_mask, memory_mask, past)
        cache.length += 1
        return self.decoder.norm(states)

    def _embed(self, pieces: Tensor, side: str, first_position: int) -> Tensor:
        """[batch, position] -> [batch, position, width]: embedding times sqrt(width), plus positions, dropout."""
        end = first_position + pieces.shape[1]
        if end > len(self.positions):
            self.positions = sinusoids(2 * end, self.config.width).to(self.positions)
        states = F.embedding(pieces, self._matrix(side)) * math.sqrt(self.config.width)
        return dropout(states + self.positions[first_position:end], self.config.dropout, self.training)

    def _matrix(self, side: str) -> Tensor:
        return self.embedding["shared" if self.config.tie_embeddings else side]


class Stack(nn.Module, Generic[Layer]):
    """Layers and, after pre-norm layers, the norm of their sum."""

    def __init__(self, config: ModelConfig, layers: list[Layer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = layer_norm(config) if config.norm == "pre" else nn.Identity()

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)  # type: ignore[arg-type]


def sinusoids(length: int, width: int) -> Tensor:
    """Return the fixed position vectors [position, width]: sines in the first half, cosines in the second."""
    half = -(-width // 2)
    rates = torch.exp(torch.arange(half) * (-math.log(10_000) / half))  # [half]
    angles = torch.arange(length)[:, None] * rates  # [position, half]
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]
