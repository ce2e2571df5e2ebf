"""How much of the machine a training step uses: its matrix products a second beside the best that one product reaches.

The products of a step are counted by formula, for real tokens only: three times those of a forward pass. Everything
else that a step does, padding too, lowers the share.
"""

from __future__ import annotations

import time

import torch

from benchmarks.corpus import DESCRIPTION, prepared
from benchmarks.rounds import Line, tell_round
from benchmarks.training import MODEL, TOKENS_PER_BATCH
from benchmarks.update import training
from headcount.data.batching import Batch, TokenBatches
from headcount.data.encoded import Encoded
from headcount.data.prepare import Layout
from headcount.evaluate.macs import decoding, encoding
from headcount.model.shape import ModelConfig
from headcount.vocabulary import PAD

ROUNDS, STEPS, REPEATS = 5, 6, 20
VOCABULARY = 4000
CONFIG = ModelConfig(vocabulary=VOCABULARY, **MODEL)

ROWS, CHUNK = TOKENS_PER_BATCH, 1024
WIDTH, FEED_FORWARD = CONFIG.width, CONFIG.feed_forward
SHAPES = (
    (ROWS, WIDTH, WIDTH),
    (ROWS, WIDTH, FEED_FORWARD),
    (ROWS, FEED_FORWARD, WIDTH),
    (WIDTH, ROWS, FEED_FORWARD),
    (CHUNK, WIDTH, VOCABULARY),
    (CHUNK, VOCABULARY, WIDTH),
    (VOCABULARY, CHUNK, WIDTH),
)
"""Products [a, b] @ [b, c] of a step, forward and backward."""


def compare(names: tuple[str, ...]) -> list[Line]:
    """Measure both rates in turn, in GFLOP per CPU-second."""
    torch.set_num_threads(1)
    batches = TokenBatches(Encoded.load(Layout(prepared()).encoded("train")), tokens_per_batch=TOKENS_PER_BATCH, seed=1)
    step = training(CONFIG)
    for position in range(3):
        step(batches.at(position))
    steps, products, best = [], [], {}
    for number in range(ROUNDS):
        window = [batches.at(number * STEPS + index) for index in range(STEPS)]
        work = 3 * sum(map(forward_gflop, window))
        started = time.process_time()
        for batch in window:
            step(batch)
        steps.append(work / (time.process_time() - started))
        rates = {shape: product_rate(*shape) for shape in SHAPES}
        products.append(max(rates.values()))
        best = max(rates, key=lambda shape: rates[shape])
        tell_round(number + 1, ROUNDS)
    conditions = {
        "model": "d128 ff512 3+3 layers 8 heads V=4000; dropout 0.1, none on attention weights",
        "data": f"{DESCRIPTION}; about {TOKENS_PER_BATCH:,} tokens a batch",
        "ours": "matrix products of a step by formula, padding not counted, 3 x forward; forward, backward, Adam",
        "peer": f"the fastest of {len(SHAPES)} products of that model, here {' x '.join(map(str, best))}",
        "time": "CPU time, the two in turn in one process",
    }
    return [Line(name, "GFLOP per CPU-second", steps, products, conditions) for name in names]


def forward_gflop(batch: Batch) -> float:
    """Count the matrix products of a forward pass over a batch, as if each sentence stood alone."""
    sources = (batch.source != PAD).sum(1).tolist()
    targets = (batch.target_output != PAD).sum(1).tolist()
    macs = sum(
        encoding(CONFIG, source).total + decoding(CONFIG, source, target, target * (target + 1) // 2).total
        for source, target in zip(sources, targets, strict=True)
    )
    return 2e-9 * macs


def product_rate(rows: int, inner: int, columns: int) -> float:
    """Return GFLOP per CPU-second of one product, the fastest of several tries."""
    left, right = torch.randn(rows, inner), torch.randn(inner, columns)
    out = torch.empty(rows, columns)
    seconds = []
    for _ in range(REPEATS):
        started = time.process_time()
        torch.mm(left, right, out=out)
        seconds.append(time.process_time() - started)
    return 2e-9 * rows * inner * columns / min(seconds)
