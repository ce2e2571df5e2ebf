"""Score a head by its confidence in the model's own greedy translations: the mean largest weight (behnke2020)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headcount.data.encoded import Encoded
from headcount.model.transformer import Transformer
from headcount.observe.translated import translated
from headcount.pruning.scorers import confidence_forced

LENGTH_RATIO, LENGTH_EXTRA = 2.0, 10
"""Most pieces of a translation: twice those of the source and ten; a model early in training may write no EOS."""


def score_heads(model: Transformer, corpus: Encoded, *, seed: int) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Measure every head's confidence while the model translates, as the authors' code does.

    Greedy search looks at the source once and then makes one step after BOS and after each piece before EOS; to read
    what it wrote gives the very same rows of weights, so that this is `confidence_forced` on other targets. The authors
    decode a data set that they do not name, with a beam whose hypotheses all count.

    Args:
        model: the model after its round of training.
        corpus: the dev set, of which only the sources matter.
        seed: not used; neither the search nor confidence has chance in it.

    """
    written = translated(model, corpus, length_ratio=LENGTH_RATIO, length_extra=LENGTH_EXTRA)
    return confidence_forced.score_heads(model, written, seed=seed)
