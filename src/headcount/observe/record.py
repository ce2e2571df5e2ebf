"""Summarise every head of a model over a corpus in one pass: exact micro-averages, whatever the batches."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import numpy.typing as npt
from torch import Tensor

from headcount.data.encoded import Encoded
from headcount.model.transformer import Transformer
from headcount.observe import measures
from headcount.observe.observation import HEAD_MEASURES, Observation
from headcount.observe.watch import AttentionMap, watch

Sums = dict[str, Tensor]
"""Name -> sum over the rows seen so far: [head], [head, bin] or []."""


def record(model: Transformer, corpus: Encoded, *, sentences_per_batch: int) -> Observation:
    """Measure confidence, entropy, density, diversity and α of every head, teacher-forced on the corpus.

    Args:
        model: any model; its gates, if it has some, are binary as in evaluation.
        corpus: usually the dev set.
        sentences_per_batch: memory against speed only; the result does not depend on it.

    """
    sums: dict[tuple[str, int], Sums] = defaultdict(dict)

    def add(seen: AttentionMap) -> None:
        into = sums[seen.attention, seen.layer]
        for name, value in summarise(seen).items():
            into[name] = into[name] + value if name in into else value

    watch(model, corpus, sentences_per_batch=sentences_per_batch, see=add)
    return _observation(model, sums, len(corpus))


def summarise(seen: AttentionMap) -> Sums:
    """Return the sums and counts of one map; those of several maps of a layer may be added."""
    everywhere, everywhere_rows = measures.confidence(seen.weights, seen.queries, seen.keys)
    words, word_rows = measures.confidence(seen.weights, seen.word_queries, seen.word_keys)
    used, possible = measures.support(seen.weights, seen.allowed)
    return {
        "confidence_with_eos": everywhere,
        "rows": everywhere_rows,
        "confidence": words,
        "word_rows": word_rows,
        "entropy": measures.entropy(seen.weights, seen.queries),
        "support": used.sum(0),
        "possible": possible.sum(),
        "density_histogram": measures.histogram(used, possible),
        "divergence": measures.divergence(seen.weights, seen.queries),
    }


def _observation(model: Transformer, sums: dict[tuple[str, int], Sums], sentences: int) -> Observation:
    heads: list[tuple[str, int, int]] = []
    layers: list[tuple[str, int]] = []
    columns: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in HEAD_MEASURES}
    histograms = [np.empty((0, measures.BINS), dtype=np.int64)]
    diversity: list[float] = []
    for kind, layer in model.attentions():
        ids = model.config.kept[kind][layer]
        if not ids:
            continue
        found = {name: value.cpu().numpy() for name, value in sums[kind, layer].items()}
        heads += [(kind, layer, head) for head in ids]
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no row to average
            columns["confidence"].append(found["confidence"] / found["word_rows"])
            columns["confidence_with_eos"].append(found["confidence_with_eos"] / found["rows"])
            columns["entropy"].append(found["entropy"] / found["rows"])
            columns["density"].append(found["support"] / found["possible"])
            diversity.append(float(found["divergence"] / found["rows"]))
        columns["alpha"].append(_alpha(model, kind, layer))
        histograms.append(found["density_histogram"])
        layers.append((kind, layer))
    return Observation(
        attention=np.array([kind for kind, _, _ in heads], dtype=np.str_),
        layer=np.array([layer for _, layer, _ in heads], dtype=np.int64),
        head=np.array([head for _, _, head in heads], dtype=np.int64),
        **{name: np.concatenate([np.empty(0), *parts]) for name, parts in columns.items()},
        density_histogram=np.concatenate(histograms),
        layer_attention=np.array([kind for kind, _ in layers], dtype=np.str_),
        layer_index=np.array([layer for _, layer in layers], dtype=np.int64),
        diversity=np.array(diversity, dtype=np.float64),
        sentences=np.array(sentences, dtype=np.int64),
    )


def _alpha(model: Transformer, kind: str, layer: int) -> npt.NDArray[np.float64]:
    """Return the learned α of each head of a layer, [head]; NaN where the normaliser has none."""
    attention = model.attentions()[kind, layer]
    alpha = getattr(attention.normaliser, "alpha", None)
    if not isinstance(alpha, Tensor):
        return np.full(len(model.config.kept[kind][layer]), math.nan)
    values: npt.NDArray[np.float64] = alpha.detach().double().cpu().numpy()
    return values
