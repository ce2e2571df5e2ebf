"""Decoding with three quarters of the heads removed, beside the dense model: d = 512, 6+6 layers.

Both models search by themselves for the same number of steps, see `decoding`; they differ in nothing but the heads.
"""

from __future__ import annotations

import time

import torch

from benchmarks.corpus import prepared
from benchmarks.decoding import batches, never_ending, search
from benchmarks.rounds import Line, tell_round
from headcount.heads import ATTENTION_TYPES, total
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.pruning.gradual import reduced

ROUNDS = 5
BATCHES, SENTENCES_PER_BATCH = 2, 32
BEAMS = {"removed_beam4": 4, "removed_greedy": 1}

DENSE = ModelConfig(
    vocabulary=8000,
    layers_encoder=6,
    layers_decoder=6,
    width=512,
    heads=8,
    feed_forward=2048,
    norm="pre",
    tie_embeddings=True,
    dropout=0.0,
    attention_dropout=0.0,
)
HEADS_LEFT = {"encoder": (4, 3, 3, 1, 1, 0), "decoder_self": (0, 1, 2, 4, 3, 2), "decoder_cross": (0, 0, 1, 3, 4, 4)}
"""Uneven, as pruning leaves them: 12 of 48 in each attention type."""


def smaller(dense: Transformer) -> Transformer:
    """Remove the heads that `HEADS_LEFT` does not keep."""
    kept = {kind: [list(range(heads)) for heads in HEADS_LEFT[kind]] for kind in ATTENTION_TYPES}
    return reduced(dense, kept)


def compare(names: tuple[str, ...]) -> list[Line]:
    """Measure the named beams in turn, the two models batch by batch."""
    torch.set_num_threads(1)
    dense = never_ending(DENSE)
    pruned = smaller(dense)
    work = batches(prepared(), BATCHES, SENTENCES_PER_BATCH)
    rates: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    for number in range(-1, ROUNDS):  # the first round is the warm-up
        for name in names:
            seconds = [0.0, 0.0]
            for batch in work if number >= 0 else work[:1]:
                for index, model in enumerate((pruned, dense)):
                    started = time.process_time()
                    search(model, *batch, BEAMS[name])
                    seconds[index] += time.process_time() - started
            if number >= 0:
                for own, spent in zip(rates[name], seconds, strict=True):
                    own.append(BATCHES * SENTENCES_PER_BATCH / spent)
        tell_round(max(number + 1, 0), ROUNDS)
    layout = "; ".join(f"{kind} {'-'.join(map(str, left))}" for kind, left in HEADS_LEFT.items())
    conditions = {
        "model": "d512 ff2048 6+6 layers 8 heads V=8000 pre-norm, random weights",
        "removed": f"{total(dense.config.kept) - total(pruned.config.kept)} of {total(dense.config.kept)} heads; "
        f"left by layer: {layout}",
        "data": f"{BATCHES} batches of {SENTENCES_PER_BATCH} Tatoeba en-de test sentences of similar length",
        "search": "as many steps for both as the batch's references have pieces",
        "time": "CPU time, the two in turn in one process",
    }
    return [Line(name, "sentences per CPU-second", *rates[name], conditions) for name in names]
