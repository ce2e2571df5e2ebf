"""A whole training step with α-entmax in every attention, beside the same step with softmax."""

from __future__ import annotations

import time

import torch

from benchmarks.rounds import Line, tell_round
from benchmarks.update import training
from headcount.data.batching import Batch, make_batch
from headcount.data.encoded import Encoded
from headcount.heads import ATTENTION_TYPES
from headcount.model.shape import ModelConfig
from headcount.vocabulary import EOS

ROUNDS, STEPS = 7, 3
SENTENCES, PIECES = 32, 32
NORMALISERS = ("entmax_alpha", "softmax")

CONFIG = ModelConfig(
    vocabulary=4000,
    layers_encoder=3,
    layers_decoder=3,
    width=256,
    heads=8,
    feed_forward=1024,
    norm="pre",
    tie_embeddings=True,
    dropout=0.1,
    attention_dropout=0.0,
)

CONDITIONS = {
    "model": "d256 ff1024 3+3 layers 8 heads V=4000; dropout 0.1, none on attention weights; α learned for each head",
    "data": f"{SENTENCES} random sentences of {PIECES} pieces on both sides, no padding",
    "step": "forward, backward, clipping and Adam of headcount",
    "time": "CPU time, the two in turn in one process; softmax has PyTorch's fused attention",
}


def compare(names: tuple[str, ...]) -> list[Line]:
    """Measure target tokens per CPU-second with both normalisers."""
    torch.set_num_threads(1)
    batch = random_batch()
    sides = {
        name: training(ModelConfig.from_dict(CONFIG.to_dict() | {"normalisers": dict.fromkeys(ATTENTION_TYPES, name)}))
        for name in NORMALISERS
    }
    rates: dict[str, list[float]] = {name: [] for name in NORMALISERS}
    for side in sides.values():
        side(batch)
    for number in range(ROUNDS):
        for name, side in sides.items():
            started = time.process_time()
            for _ in range(STEPS):
                side(batch)
            rates[name].append(STEPS * batch.target_tokens / (time.process_time() - started))
        tell_round(number + 1, ROUNDS)
    return [Line(name, "target tokens per CPU-second", *rates.values(), CONDITIONS) for name in names]


def random_batch() -> Batch:
    """Return sentences of random pieces."""
    generator = torch.Generator().manual_seed(1)
    pieces = torch.randint(4, CONFIG.vocabulary, (2, SENTENCES, PIECES), generator=generator)
    pieces[:, :, -1] = EOS
    source, target = pieces.tolist()
    return make_batch(Encoded.from_lists(source, target), range(SENTENCES))
