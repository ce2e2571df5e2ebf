"""Score a head by its confidence on the references: the mean largest weight, EOS included (behnke2020)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from torch import Tensor

from headcount.data.encoded import Encoded
from headcount.model.transformer import Transformer
from headcount.observe.measures import confidence
from headcount.observe.watch import AttentionMap, watch
from headcount.pruning.ranking import by_layer

SENTENCES_PER_BATCH = 64
"""Memory against speed only; the scores do not depend on it."""


def score_heads(model: Transformer, corpus: Encoded, *, seed: int) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Measure every head's confidence, teacher-forced on the corpus.

    It needs no search, but a head is seen on text that the model may not be able to write yet; `confidence` is measured
    as the authors do. A row of few keys is confident by itself (1 at the first step of the decoder), which favours
    decoder self-attention in a global ranking; the ranking `per_type` does not compare the types.

    Args:
        model: the model after its round of training.
        corpus: the dev set.
        seed: not used; confidence has no chance in it.

    Raises:
        UserError: the corpus is empty.

    """
    sums: dict[tuple[str, int], tuple[Tensor, Tensor]] = {}

    def add(seen: AttentionMap) -> None:
        total, rows = confidence(seen.weights, seen.queries, seen.keys)
        before = sums.get((seen.attention, seen.layer))
        sums[seen.attention, seen.layer] = (total, rows) if before is None else (before[0] + total, before[1] + rows)

    watch(model, corpus, sentences_per_batch=SENTENCES_PER_BATCH, see=add)
    means = {place: (total / rows).cpu().numpy() for place, (total, rows) in sums.items()}
    return by_layer(means, model.config.kept)
