"""Score a head by what the loss says of it: E |dL / dg|, of length 1 in each layer (Michel, Levy and Neubig 2019)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from headcount.data.batching import make_batch, sorted_batches
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.model.transformer import Transformer
from headcount.observe.relevance.ablation import gate_gradients
from headcount.observe.relevance.propagate import Place, frozen
from headcount.pruning.ranking import by_layer

SENTENCES_PER_BATCH = 32
"""Memory against speed only; the scores do not depend on it."""


def score_heads(model: Transformer, corpus: Encoded, *, seed: int) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Estimate how far the loss changes with each head, teacher-forced on the corpus.

    For sentence x with loss L(x), summed over its pieces, and gate g of the head, here 1,

        I = E_x |dL(x) / dg| = E_x |Att(x)^T dL(x) / dAtt(x)|

    with one absolute value a sentence. The scores of each attention of each layer are then divided by their Euclidean
    norm, as the paper found necessary where layers differ in size; a head that is alone in its layer has score 1, the
    highest there is. Scores are 0 in a layer on which nothing depends.

    Args:
        model: the model after its round of training; it is as before when the pass ends.
        corpus: the dev set.
        seed: not used; the loss is that of evaluation mode.

    Raises:
        UserError: the corpus is empty.

    """
    if not len(corpus):
        raise UserError("the corpus has no sentence pairs to score heads on; run `headcount prepare` again")
    device = model.output_weight.device
    sums: dict[Place, Tensor] = {}  # the mean's divisor has no part in a score of length 1
    with frozen(model):
        for ids in sorted_batches(corpus, sentences_per_batch=SENTENCES_PER_BATCH):
            for place, gradients in gate_gradients(model, make_batch(corpus, ids).to(device)).items():
                of_batch = gradients.double().sum(0)  # [head]
                sums[place] = sums[place] + of_batch if place in sums else of_batch
    scores = {place: F.normalize(total, dim=0).cpu().numpy() for place, total in sums.items()}
    return by_layer(scores, model.config.kept)
