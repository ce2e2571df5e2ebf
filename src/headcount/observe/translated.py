"""A corpus with a model's own greedy translations in place of the references."""

from __future__ import annotations

from headcount.data.encoded import Encoded
from headcount.model.decode import translate
from headcount.model.transformer import Transformer
from headcount.vocabulary import EOS

SENTENCES_PER_BATCH = 64
"""Memory against speed only."""


def translated(model: Transformer, corpus: Encoded, *, length_ratio: float, length_extra: int) -> Encoded:
    """Return the same sources with what the model writes in greedy search, so that each piece is the top 1 of its step.

    The decoder that is teacher-forced on the result reads BOS and each piece before EOS, position by position what
    search has read.

    Args:
        model: its training mode is restored afterwards.
        corpus: pairs, of which only the sources are used.
        length_ratio: longest translation as a multiple of the source, plus
        length_extra: pieces.

    """
    sources = [corpus.source(index).tolist() for index in range(len(corpus))]
    written = translate(
        model,
        sources,
        beam=1,
        length_penalty=0.0,
        max_length=(length_ratio, length_extra),
        sentences_per_batch=SENTENCES_PER_BATCH,
    )
    return Encoded.from_lists(sources, [[*pieces, EOS] for pieces in written])
