"""Score a head by how unconfident it is, so that the most confident heads go: the control of confidence's sign."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headcount.data.encoded import Encoded
from headcount.model.transformer import Transformer
from headcount.pruning.scorers import confidence


def score_heads(model: Transformer, corpus: Encoded, *, seed: int) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Return the negative of `confidence`; its arguments and errors are those of this."""
    found = confidence.score_heads(model, corpus, seed=seed)
    return {kind: [-layer for layer in layers] for kind, layers in found.items()}
