"""What the heads of a model were found to look at: counts for each link, and whole maps of a few sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GOLD, SHUFFLED = "gold", "shuffled"
"""Names of the labels that a head is compared with: the true ones, and random ones as a control."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Links:
    """Counts of the links, with the rows of the `Observation` they belong to; 0 cases where a link means nothing.

    Attributes:
        kind: [link] positional, syntactic or rare.
        role: [link] `-1`, `nsubj:to_dependent`, `rare-2`.
        labels: [link] gold, or shuffled for the control.
        hits: [row, link] cases in which the largest weight is on the target.
        cases: [row, link] queries that have a target.
        baseline: [row, link] share of hits to compare with: of the best fixed offset for a relation, else of a head
            that looks at any key alike; NaN without a case.
        measure: [measure] names of the mean weights.
        weight: [row, measure] mean weights (correia2019 figures 7 to 9); NaN where there is none.
        coverage: [entry] what the labels cover.
        covered: [entry] how many.

    """

    kind: Names
    role: Names
    labels: Names
    hits: Integers
    cases: Integers
    baseline: Floats
    measure: Names
    weight: Floats
    coverage: Names
    covered: Integers

    @classmethod
    def none(cls) -> Links:
        """Return what an unlabelled corpus has."""
        name, count, share = np.empty(0, np.str_), np.empty((0, 0), np.int64), np.empty((0, 0))
        return cls(name, name, name, count, count, share, name, share, name, np.empty(0, np.int64))


@dataclass(frozen=True)
class Maps:
    """Attention maps before dropout; cells outside the sentence and below the causal mask are NaN.

    Attributes:
        sentence: [map] number of the sentence in the corpus.
        source: [map, position] its source pieces, the text "" behind its end.
        target: [map, position] what the decoder reads.
        encoder: [row, map, query, key] weights of the encoder's heads, in the order of the observation's rows.
        decoder_cross: [row, map, query, key] of the cross-attention's heads.

    """

    sentence: Integers
    source: Names
    target: Names
    encoder: Floats
    decoder_cross: Floats

    @classmethod
    def none(cls) -> Maps:
        """Return the maps of no sentence."""
        weights, pieces = np.empty((0, 0, 0, 0)), np.empty((0, 0), np.str_)
        return cls(np.empty(0, np.int64), pieces, pieces, weights, weights)
