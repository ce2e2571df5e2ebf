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
from headcount.observe.found import Links, Maps
from headcount.observe.links import Found, LinkCounter
from headcount.observe.maps import MapKeeper
from headcount.observe.observation import HEAD_MEASURES, Observation
from headcount.observe.watch import AttentionMap, watch

Floats = npt.NDArray[np.float64]

Sums = dict[str, Tensor]
"""Name -> sum over the rows seen so far; [head] unless said otherwise."""


def record(
    model: Transformer,
    corpus: Encoded,
    *,
    sentences_per_batch: int,
    links: LinkCounter | None = None,
    maps: MapKeeper | None = None,
) -> Observation:
    """Measure confidence, entropy, density, diversity and α of every head, teacher-forced on the corpus.

    Args:
        model: any model; its gates, if it has some, are binary as in evaluation.
        corpus: usually the dev set.
        sentences_per_batch: memory against speed only; the result does not depend on it.
        links: counts what the heads look at, where the corpus is labelled.
        maps: keeps the maps of some sentences.

    """
    sums: dict[tuple[str, int], Sums] = defaultdict(dict)

    def add(seen: AttentionMap) -> None:
        into = sums[seen.attention, seen.layer]
        for name, value in {**summarise(seen), **(links.summarise(seen) if links else {})}.items():
            into[name] = into[name] + value if name in into else value
        if maps:
            maps.keep(seen)

    watch(model, corpus, sentences_per_batch=sentences_per_batch, see=add)
    kept = model.config.kept
    found: dict[tuple[str, int], Found] = {
        (kind, layer): {name: value.cpu().numpy() for name, value in sums[kind, layer].items()}
        for kind, layer in model.attentions()
        if kept[kind][layer]
    }
    return _observation(
        model,
        found,
        sentences=len(corpus),
        links=links.found([(len(kept[kind][layer]), of) for (kind, layer), of in found.items()])
        if links
        else Links.none(),
        maps=maps.found(kept) if maps else Maps.none(),
    )


def summarise(seen: AttentionMap) -> Sums:
    """Return the sums and counts of one map; those of several maps of a layer may be added."""
    everywhere, everywhere_rows = measures.confidence(seen.weights, seen.queries, seen.keys)
    words, word_rows = measures.confidence(seen.weights, seen.word_queries, seen.word_keys)
    used, possible = measures.support(seen.weights, seen.allowed)
    density = used / possible[:, None].double()  # [batch, head]
    return {
        "confidence_with_eos": everywhere,
        "rows": everywhere_rows,  # []
        "confidence": words,
        "word_rows": word_rows,  # []
        "entropy": measures.entropy(seen.weights, seen.queries),
        "support": used.sum(0),
        "possible": possible.sum(),  # []
        "density": density.sum(0),
        "density_squared": density.square().sum(0),
        "density_histogram": measures.histogram(used, possible),  # [head, bin]
        "divergence": measures.divergence(seen.weights, seen.queries),  # []
    }


def _observation(
    model: Transformer, found: dict[tuple[str, int], Found], *, sentences: int, links: Links, maps: Maps
) -> Observation:
    heads: list[tuple[str, int, int]] = []
    columns: dict[str, list[Floats]] = {name: [] for name in HEAD_MEASURES}
    histograms = [np.empty((0, measures.BINS), dtype=np.int64)]
    diversity: list[float] = []
    for (kind, layer), sums in found.items():
        heads += [(kind, layer, head) for head in model.config.kept[kind][layer]]
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no row to average
            columns["confidence"].append(sums["confidence"] / sums["word_rows"])
            columns["confidence_with_eos"].append(sums["confidence_with_eos"] / sums["rows"])
            columns["entropy"].append(sums["entropy"] / sums["rows"])
            columns["density"].append(sums["support"] / sums["possible"])
            diversity.append(float(sums["divergence"] / sums["rows"]))
        variance = sums["density_squared"] / sentences - (sums["density"] / sentences) ** 2
        columns["density_sd"].append(np.sqrt(variance.clip(min=0)))  # rounding may leave less than 0
        columns["alpha"].append(_alpha(model, kind, layer))
        histograms.append(sums["density_histogram"])
    return Observation(
        attention=np.array([kind for kind, _, _ in heads], dtype=np.str_),
        layer=np.array([layer for _, layer, _ in heads], dtype=np.int64),
        head=np.array([head for _, _, head in heads], dtype=np.int64),
        **{name: np.concatenate([np.empty(0), *parts]) for name, parts in columns.items()},
        density_histogram=np.concatenate(histograms),
        layer_attention=np.array([kind for kind, _ in found], dtype=np.str_),
        layer_index=np.array([layer for _, layer in found], dtype=np.int64),
        diversity=np.array(diversity, dtype=np.float64),
        sentences=np.array(sentences, dtype=np.int64),
        links=links,
        maps=maps,
    )


def _alpha(model: Transformer, kind: str, layer: int) -> Floats:
    """Return the learned α of each head of a layer, [head]; NaN where the normaliser has none."""
    attention = model.attentions()[kind, layer]
    alpha = getattr(attention.normaliser, "alpha", None)
    if not isinstance(alpha, Tensor):
        return np.full(len(model.config.kept[kind][layer]), math.nan)
    values: Floats = alpha.detach().double().cpu().numpy()
    return values
