"""Score heads by chance: the control that shows what a criterion is worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headcount.data.encoded import Encoded
from headcount.heads import ATTENTION_TYPES
from headcount.model.transformer import Transformer


def score_heads(model: Transformer, corpus: Encoded, *, seed: int) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Draw one score in [0, 1) for every head of the dense model and return those of the kept heads.

    A head keeps its score for the same seed whatever was removed before, so the rounds of one seed remove the heads
    in one random order.

    Args:
        model: gives the shape only.
        corpus: not used; chance needs no data.
        seed: of the scores.

    """
    generator = np.random.default_rng(seed)
    return {
        kind: [generator.random(model.config.heads)[ids] for ids in model.config.kept[kind]]
        for kind in ATTENTION_TYPES  # an order of its own: a table read from a file may be in another
    }
