"""Measure how much each attention head of a model matters to what it writes."""

from __future__ import annotations

from pathlib import Path

import torch

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.files import atomic_write
from headcount.model import weights
from headcount.observe.relevance.importance import importance
from headcount.observe.translated import translated
from headcount.registry import nearest
from headcount.train.device import choose_device

PREFIXES = ("reference", "generated")

POSITIONS_PER_BATCH = 512
"""1.1 to 1.4 GB beside a model of 6 layers, width 512 and 32,000 pieces."""


def relevance(
    encoded: Path,
    out: Path,
    *,
    model: Path,
    sentences: int,
    prefixes: str,
    epsilon: float,
    length_ratio: float,
    length_extra: int,
) -> None:
    """Write `relevance.csv` for the first pairs of `encoded`.

    Args:
        encoded: usually the dev set.
        out: the table, with the columns of `importance.COLUMNS`.
        model: a model folder.
        sentences: pairs that are used.
        prefixes: what the decoder has read at each step: `reference`, or `generated`, what it writes in greedy search.
        epsilon: of the ε rule, relative to the size of its denominators.
        length_ratio: longest translation as a multiple of the source, plus
        length_extra: pieces; for generated prefixes.

    Raises:
        UserError: prefixes of another kind, a missing file, an empty corpus.

    """
    if prefixes not in PREFIXES:
        raise UserError(f"prefixes {prefixes!r}: unknown{nearest(prefixes, PREFIXES)}; allowed: {', '.join(PREFIXES)}")
    torch.set_num_threads(1)
    network = weights.load(model, choose_device("auto"))
    pairs = _first(Encoded.load(encoded), sentences)
    read = (
        pairs
        if prefixes == "reference"
        else translated(network, pairs, length_ratio=length_ratio, length_extra=length_extra)
    )
    table = importance(network, pairs, read, epsilon=epsilon, positions_per_batch=POSITIONS_PER_BATCH)
    atomic_write(out, table.to_csv(index=False, lineterminator="\n", float_format="%.10g"))


def _first(corpus: Encoded, sentences: int) -> Encoded:
    ids = range(min(sentences, len(corpus)))
    return Encoded.from_lists([corpus.source(i).tolist() for i in ids], [corpus.target(i).tolist() for i in ids])
