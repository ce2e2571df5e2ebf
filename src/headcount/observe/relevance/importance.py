"""How much each head matters to a model, by five measures of the same sentences, with intervals.

With R(l, i) the relevance of the outputs of head i of layer l for one step's top-1 logit, summed over positions and
channels, the value of a head is the mean over all generation steps of its share in the layer,
|R(l, i)| / Σ_j |R(l, j)| (voita2019 section 4). The magnitude is ours: under the ε rule relevance has a sign and a
layer's sum may be 0; under the α-β rule all signs are equal and the share is the paper's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor

from headcount.data.batching import make_batch
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.model.transformer import Transformer
from headcount.observe.relevance.ablation import gate_gradients, loss_rises
from headcount.observe.relevance.propagate import Place, frozen, step_relevance
from headcount.observe.relevance.rules import AlphaBeta, Epsilon, Gradient, Rule
from headcount.vocabulary import PAD

COLUMNS = ("attention", "layer", "head", "measure", "value", "low", "high")

NORMAL_95 = 1.959964
"""Half the width of a 95 % interval, in standard errors."""

Numbers = npt.NDArray[np.float64]
Sums = tuple[Tensor, Tensor]
"""For each sentence a numerator of each head, [batch, head], and their common denominator, [batch]."""


def importance(
    model: Transformer, corpus: Encoded, prefixes: Encoded, *, epsilon: float, positions_per_batch: int
) -> pd.DataFrame:
    """Return one row for every head and measure, with the columns `COLUMNS`.

    Measures: `lrp_epsilon`, `lrp_alpha_beta` and `gradient_times_activation` (of the top-1 logits, with the model's
    true derivatives) are shares as above; `gate_gradient`, the mean over sentences of |dL / dg|, is a share too;
    `leave_one_out` is the rise of the loss in nats per target piece. A head of a layer on which nothing depends has no
    share, and no row.

    `low` and `high` are a normal approximation over sentences, see `estimate`; missing for a single sentence.

    Args:
        model: any Transformer.
        corpus: pairs whose references are the loss.
        prefixes: the same sources, with the targets whose steps are explained: references or translations.
        epsilon: of the ε rule.
        positions_per_batch: sentences x longest side of a batch, padding included; it bounds the memory, and the result
            does not depend on it.

    Raises:
        UserError: the corpus is empty.

    """
    if not len(corpus):
        raise UserError("the corpus has no sentence pairs to explain; run `headcount prepare` again")
    device = model.output_weight.device
    rules: dict[str, Gradient | Rule] = {
        "lrp_epsilon": Epsilon(epsilon),
        "lrp_alpha_beta": AlphaBeta(),
        "gradient_times_activation": Gradient(),
    }
    sums: dict[tuple[str, Place], list[Sums]] = defaultdict(list)
    with frozen(model):
        for ids in _batches(corpus, prefixes, positions_per_batch):
            read, batch = make_batch(prefixes, ids).to(device), make_batch(corpus, ids).to(device)
            real = read.target_input != PAD
            for measure, rule in rules.items():
                for place, relevance in step_relevance(model, rule, read.source, read.target_input).items():
                    sums[measure, place].append(shares(relevance, real))
            for place, gradients in gate_gradients(model, batch).items():
                sums["gate_gradient", place].append((gradients, gradients.sum(1)))
            pieces = (batch.target_output != PAD).sum(1)
            for place, rises in loss_rises(model, batch).items():
                sums["leave_one_out", place].append((rises, pieces))
    rows = [_rows(model, measure, place, parts) for (measure, place), parts in sums.items()]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(COLUMNS))


def _batches(corpus: Encoded, prefixes: Encoded, positions: int) -> Iterator[list[int]]:
    """Group sentences of similar length; one that is longer than a batch may be is a batch of its own."""
    longest = np.maximum.reduce([corpus.source_lengths, corpus.target_lengths, prefixes.target_lengths])
    batch: list[int] = []
    for sentence in np.argsort(longest, kind="stable").tolist():
        if batch and (len(batch) + 1) * longest[sentence] > positions:
            yield batch
            batch = []
        batch.append(sentence)
    yield batch


def shares(relevance: Tensor, steps: Tensor) -> Sums:
    """Sum the shares of the heads over the steps of each sentence, and count these steps.

    Args:
        relevance: [batch, step, head].
        steps: [batch, step], True = no padding; a step for which the whole layer is irrelevant does not count either.

    """
    sizes = relevance.abs().double()
    totals = sizes.sum(-1, keepdim=True)  # [batch, step, 1]
    counted = steps[..., None] & (totals > 0)
    return torch.where(counted, sizes / totals, 0.0).sum(1), counted.sum((1, 2))


def estimate(numerators: Numbers, denominators: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return r = Σ x / Σ n over sentences and its 95 % interval, [head] each; NaN where Σ n is 0.

    The interval is the normal approximation for a ratio: r ± 1.96 sqrt(N / (N - 1) Σ (x - r n)²) / Σ n for N sentences.

    Args:
        numerators: x, [sentence, head].
        denominators: n, [sentence].

    """
    n = denominators[:, None]
    count = len(n)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = numerators.sum(0) / n.sum()
        variance = np.float64(count) / (count - 1) if count > 1 else np.nan
        error = np.sqrt(variance * ((numerators - ratio * n) ** 2).sum(0)) / n.sum()
    return ratio, ratio - NORMAL_95 * error, ratio + NORMAL_95 * error


def _rows(model: Transformer, measure: str, place: Place, parts: list[Sums]) -> pd.DataFrame:
    kind, layer = place
    numerators, denominators = (torch.cat(side).double().cpu().numpy() for side in zip(*parts, strict=True))
    value, low, high = estimate(numerators, denominators)
    heads = model.config.kept[kind][layer]
    table = pd.DataFrame({"head": heads, "value": value, "low": low, "high": high})
    return table.assign(attention=kind, layer=layer, measure=measure)[list(COLUMNS)].dropna(subset=["value"])
