"""What the parts of `benchmarks.gpu` share: sizes, data, models, a few updates of a training."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.update import adam_of, make_update
from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.heads import ATTENTION_TYPES
from headcount.model.decode import translate
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.train.device import Hidden
from headcount.vocabulary import EOS

CPU = torch.device("cpu")

RATE = 5e-4
"""Of the optimiser."""


@dataclass(frozen=True)
class Size:
    """What is measured: the real sizes, or small ones that show on a CPU that the script works."""

    models: dict[str, dict[str, int]]
    vocabulary: int
    tokens_per_batch: int
    precisions: tuple[str, ...]
    backend: str
    dropout: float
    rounds: int
    steps: int
    sentences: int


BASE = {"width": 512, "feed_forward": 2048, "layers_encoder": 6, "layers_decoder": 6, "heads": 8}
SMALL = {"width": 256, "feed_forward": 1024, "layers_encoder": 6, "layers_decoder": 6, "heads": 8}
TINY = {"width": 32, "feed_forward": 64, "layers_encoder": 1, "layers_decoder": 1, "heads": 4}

FULL = Size({"base": BASE, "d256": SMALL}, 32_000, 25_000, ("bfloat16", "float32"), "inductor", 0.1, 3, 12, 1024)
MINIATURE = Size({"tiny": TINY}, 64, 200, ("float32",), "eager", 0.0, 2, 2, 8)


class Bench:
    """A device, a size and the data for both."""

    def __init__(self, device: torch.device, size: Size) -> None:
        self.device, self.size = device, size
        rng = np.random.default_rng(1)
        full = size is FULL
        lengths = rng.integers(4 if full else 18, 60 if full else 22, size=20_000 if full else 100)
        sides = [[[*rng.integers(4, size.vocabulary, n).tolist(), EOS] for n in lengths + shift] for shift in (0, 1)]
        self.corpus = Encoded.from_lists(*sides)
        self.batches = TokenBatches(self.corpus, tokens_per_batch=size.tokens_per_batch, seed=1)

    def model(self, shape: dict[str, int], *, dropout: float = 0.1, normaliser: str = "softmax") -> Transformer:
        """Build a model from a fixed seed."""
        torch.manual_seed(1)
        kinds = dict.fromkeys(ATTENTION_TYPES, normaliser)
        fixed: dict[str, Any] = {"norm": "pre", "tie_embeddings": True, "attention_dropout": 0.0, "normalisers": kinds}
        config = ModelConfig(vocabulary=self.size.vocabulary, dropout=dropout, **shape, **fixed)
        return Transformer(config).to(self.device)

    def first(self) -> dict[str, int]:
        """Return the shape of the first model."""
        return next(iter(self.size.models.values()))

    def steps(self, model: Transformer, hidden: Hidden, precision: str, count: int) -> tuple[list[float], float]:
        """Train for some updates; return the loss per token of each, and target tokens per second."""
        adam = adam_of(model, RATE)
        losses, tokens = [], 0
        self.wait()
        began = time.perf_counter()
        for update in range(1, count + 1):
            batch = self.batches.at(update)
            losses.append(make_update(model, adam, update, batch, precision=precision, hidden=hidden))
            tokens += batch.target_tokens
        self.wait()
        seconds = time.perf_counter() - began
        return torch.stack(losses).tolist(), tokens / seconds

    def wait(self) -> None:
        """Wait for the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def translated(model: Transformer, sources: Sequence[Sequence[int]], beam: int, batch: int) -> list[list[int]]:
    """Translate to about the length of the source."""
    limit: tuple[float, int] = (1.0, 2)
    return translate(
        model, sources, beam=beam, length_penalty=0.6 if beam > 1 else 0.0, max_length=limit, sentences_per_batch=batch
    )
