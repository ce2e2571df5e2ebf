"""Whole attention maps of a few sentences, chosen for what there is to see in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headcount.data.encoded import Encoded
from headcount.heads import Heads
from headcount.observe.found import Maps
from headcount.observe.labels import Labels
from headcount.observe.watch import AttentionMap
from headcount.vocabulary import BOS

MODERATE = range(6, 15)
"""Pieces of a source sentence, EOS included, that fit a picture."""


def choose(labels: Labels, sentences: int) -> list[int]:
    """Choose sentences by their number: of moderate length, the first a question, the others with a rare piece.

    Where too few are so, the next best come in the order of the corpus: of moderate length, then any.
    """
    lengths = np.diff(labels.starts)
    moderate = (lengths >= MODERATE.start) & (lengths < MODERATE.stop)
    question, rare = labels.has(labels.asks), labels.has(labels.rare[0])
    order = [
        *np.flatnonzero(moderate & question)[:1],
        *np.flatnonzero(moderate & rare),
        *np.flatnonzero(moderate),
        *range(len(lengths)),
    ]
    return list(dict.fromkeys(int(sentence) for sentence in order))[:sentences]


class MapKeeper:
    """Keeps the maps of the chosen sentences as they pass by.

    Args:
        sentences: their numbers.
        corpus: the encoded pairs.
        names: text of every piece by its id.

    """

    def __init__(self, sentences: Sequence[int], corpus: Encoded, names: Sequence[str]) -> None:
        self.slots = {sentence: slot for slot, sentence in enumerate(sentences)}
        self.source = [[names[piece] for piece in corpus.source(sentence)] for sentence in sentences]
        self.target = [[names[piece] for piece in (BOS, *corpus.target(sentence)[:-1])] for sentence in sentences]
        self._weights: dict[tuple[str, int], npt.NDArray[np.float64]] = {}

    def keep(self, seen: AttentionMap) -> None:
        """Copy what belongs to a chosen sentence."""
        if seen.attention == "decoder_self":
            return
        queries = self.source if seen.attention == "encoder" else self.target
        for row, sentence in enumerate(seen.sentences.tolist()):
            if sentence in self.slots:
                slot = self.slots[sentence]
                kept = self._of(seen, queries)
                lengths = len(queries[slot]), len(self.source[slot])
                kept[:, slot, : lengths[0], : lengths[1]] = (
                    seen.weights[row, :, : lengths[0], : lengths[1]].cpu().numpy()
                )

    def _of(self, seen: AttentionMap, queries: list[list[str]]) -> npt.NDArray[np.float64]:
        """Return the weights [head, map, query, key] of a layer."""
        place = (seen.attention, seen.layer)
        if place not in self._weights:
            shape = (seen.weights.shape[1], len(self.slots), _longest(queries), _longest(self.source))
            self._weights[place] = np.full(shape, np.nan)
        return self._weights[place]

    def found(self, kept: Heads) -> Maps:
        """Return what was kept of a model with the heads `kept`."""
        weights = {}
        for kind, queries in (("encoder", self.source), ("decoder_cross", self.target)):
            nothing = np.empty((0, len(self.slots), _longest(queries), _longest(self.source)))
            layers = [self._weights[kind, layer] for layer, ids in enumerate(kept[kind]) if ids and self.slots]
            weights[kind] = np.concatenate([nothing, *layers])
        return Maps(
            sentence=np.array(list(self.slots), dtype=np.int64),
            source=_padded(self.source),
            target=_padded(self.target),
            encoder=weights["encoder"],
            decoder_cross=weights["decoder_cross"],
        )


def _longest(sentences: list[list[str]]) -> int:
    return max(map(len, sentences), default=0)


def _padded(sentences: list[list[str]]) -> npt.NDArray[np.str_]:
    width = _longest(sentences)
    return np.array([[*pieces, *[""] * (width - len(pieces))] for pieces in sentences], dtype=np.str_).reshape(
        len(sentences), width
    )
