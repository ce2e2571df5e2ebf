"""Everything that fixes the shapes of a model's tensors; free of torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Heads, full
from headcount.registry import nearest

ATTENTION_NAMES = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder_self": "decoder.layers.{}.self_attention",
    "decoder_cross": "decoder.layers.{}.cross_attention",
}
"""Attention type -> the name of a layer's attention among the model's modules and parameters."""


@dataclass(frozen=True)
class AlphaOptions:
    """What a normaliser can be told about its α (Correia et al. 2019).

    Attributes:
        mean: of the normal distribution from which a learned α = 1 + sigmoid(a) draws a, and
        sd: its standard deviation.
        lowest: a learned α is cut off below it; 1 cuts nothing off, 1.01 is the authors' code.
        fixed: the α of `entmax_fixed`; beyond 4 even float64 is too coarse for it.

    Raises:
        UserError: at construction, for a value out of its range.

    """

    mean: float = 0.0
    sd: float = 1.0
    lowest: float = 1.0
    fixed: float = 1.25

    def __post_init__(self) -> None:
        ranges = {"mean": (-math.inf, math.inf), "sd": (0.0, math.inf), "lowest": (1.0, 2.0), "fixed": (1.0, 4.0)}
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and low <= value <= high):
                raise UserError(f"alpha.{name} {value} is not allowed; allowed: {low:g} to {high:g}")


@dataclass(frozen=True)
class ModelConfig:
    """An encoder-decoder Transformer: its sizes, its normalisers and the heads that it still has.

    `heads` and `head_width` never change; a removed head is only missing in `kept`.

    Raises:
        UserError: at construction, for values that do not fit together.

    """

    vocabulary: int
    layers_encoder: int
    layers_decoder: int
    width: int
    heads: int
    feed_forward: int
    norm: str
    tie_embeddings: bool
    dropout: float
    attention_dropout: float
    normalisers: dict[str, str] = field(default_factory=dict)
    """Attention type -> a file of model/normalise; types that are left out use softmax."""
    kept: Heads = field(default_factory=dict)
    """The original ids of the heads that exist; left out, all of them do."""
    alpha: dict[str, float] = field(default_factory=dict)
    """Values of `AlphaOptions` for all normalisers; what is left out has its default."""

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise UserError(f"width {self.width} is not a multiple of heads {self.heads}")
        if self.norm not in ("pre", "post"):
            raise UserError(f"norm {self.norm!r} is unknown; allowed: pre, post")
        everything = full(self.layers_encoder, self.layers_decoder, self.heads)
        kept = {**everything, **{kind: [sorted(set(ids)) for ids in rows] for kind, rows in self.kept.items()}}
        normalisers = {**dict.fromkeys(ATTENTION_TYPES, "softmax"), **self.normalisers}
        for kind in (*kept, *normalisers):
            if kind not in ATTENTION_TYPES:
                allowed = ", ".join(ATTENTION_TYPES)
                raise UserError(
                    f"attention type {kind!r} is unknown{nearest(kind, ATTENTION_TYPES)}; allowed: {allowed}"
                )
        for kind, rows in kept.items():
            if len(rows) != len(everything[kind]):
                raise UserError(f"kept.{kind}: {len(rows)} layers are listed, the model has {len(everything[kind])}")
            for layer, ids in enumerate(rows):
                wrong = [head for head in ids if not 0 <= head < self.heads]
                if wrong:
                    raise UserError(f"kept.{kind} layer {layer}: no heads {wrong}; allowed: 0 to {self.heads - 1}")
        options = [entry.name for entry in fields(AlphaOptions)]
        for name in self.alpha:
            if name not in options:
                raise UserError(f"alpha.{name} is unknown{nearest(name, options)}; allowed: {', '.join(options)}")
        object.__setattr__(self, "alpha", asdict(AlphaOptions(**self.alpha)))
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "normalisers", normalisers)

    @property
    def head_width(self) -> int:
        """Channels of one head."""
        return self.width // self.heads

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelConfig:
        """Rebuild what `to_dict` returned; files of the time when α had no options lack `alpha`.

        Raises:
            UserError: a key is unknown or missing.

        """
        known = [entry.name for entry in fields(cls)]
        for key in values:
            if key not in known:
                raise UserError(f"model config: {key!r} is unknown{nearest(key, known)}; allowed: {', '.join(known)}")
        missing = [name for name in known if name not in values and name != "alpha"]
        if missing:
            raise UserError(f"model config: {', '.join(missing)} missing")
        return cls(**values)
