"""Measure how much each attention head of a model matters to what it writes."""

from __future__ import annotations

from pathlib import Path

import torch

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.files import atomic_write
from headcount.model import weights
from headcount.model.decode import translate
from headcount.model.transformer import Transformer
from headcount.observe.relevance.importance import importance
from headcount.registry import nearest
from headcount.train.device import choose_device
from headcount.vocabulary import EOS

PREFIXES = ("reference", "generated")

POSITIONS_PER_BATCH = 512
"""1.1 to 1.4 GB beside a model of 6 layers, width 512 and 32,000 pieces."""

SENTENCES_PER_BATCH = 64
"""Of the translation; memory against speed only."""


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
    read = pairs if prefixes == "reference" else _translated(network, pairs, (length_ratio, length_extra))
    table = importance(network, pairs, read, epsilon=epsilon, positions_per_batch=POSITIONS_PER_BATCH)
    atomic_write(out, table.to_csv(index=False, lineterminator="\n", float_format="%.10g"))


def _first(corpus: Encoded, sentences: int) -> Encoded:
    ids = range(min(sentences, len(corpus)))
    return Encoded.from_lists([corpus.source(i).tolist() for i in ids], [corpus.target(i).tolist() for i in ids])


def _translated(model: Transformer, pairs: Encoded, max_length: tuple[float, int]) -> Encoded:
    """Return the pairs with the model's greedy translations as targets: each next piece is the top-1 of its step."""
    sources = [pairs.source(i).tolist() for i in range(len(pairs))]
    written = translate(
        model,
        sources,
        beam=1,
        length_penalty=0.0,
        max_length=max_length,
        sentences_per_batch=SENTENCES_PER_BATCH,
    )
    return Encoded.from_lists(sources, [[*pieces, EOS] for pieces in written])
