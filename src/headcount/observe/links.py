"""Count for every head how often its largest weight is on the target of a link, and the weights of correia2019."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from headcount.data.packing import Indices
from headcount.observe.found import GOLD, SHUFFLED, Links
from headcount.observe.labels import Labels
from headcount.observe.measures import merging, on_targets, strongest, tally, word_attention
from headcount.observe.targets import Link, Targets, noise, piece_links, shuffled, targets, word_links
from headcount.observe.watch import AttentionMap

MERGING, INTERROGATION = "merging", "interrogation"

Found = dict[str, npt.NDArray[Any]]
"""The sums of one layer at the end of the pass."""


def link_names(offsets: Sequence[int], relations: Sequence[str]) -> list[tuple[str, str, str]]:
    """List kind, role and labels of every link in the order of `hits`."""
    links: list[Link] = [*piece_links(offsets), *word_links(relations)]
    return [(kind, role, labels) for labels in (GOLD, SHUFFLED) for kind, role in links]


def weight_names(offsets: Sequence[int]) -> list[str]:
    """List the measures that are mean weights, in the order of `weight`."""
    return [*(f"offset_{offset:+d}" for offset in offsets), INTERROGATION, MERGING]


class LinkCounter:
    """Counts for the self-attentions of a model; targets are built once for each batch and side.

    Args:
        labels: of the corpus that is watched.
        offsets: relative positions, key minus query.
        seed: of the control.

    """

    def __init__(self, labels: Labels, offsets: Sequence[int], seed: int) -> None:
        self.labels, self.offsets, self.seed = labels, tuple(offsets), seed
        self._sentences: Indices | None = None
        self._built: dict[str, tuple[Targets, Targets]] = {}

    def summarise(self, seen: AttentionMap) -> dict[str, Tensor]:
        """Return the sums of one map: nothing for a cross-attention.

        `hits` [link, head], `cases` [link] and `chance` [link], the expected hits of a head that looks anywhere;
        `weight` [measure, head] and `weight_rows` [measure].
        """
        if seen.attention == "decoder_cross":
            return {}
        gold, control = self._targets(seen)
        piece = strongest(seen.weights, gold.eligible)  # [batch, head, query]
        word = strongest(word_attention(seen.weights, gold.members), gold.eligible_words)  # [batch, head, query word]
        parts = [
            tally(found, expected, eligible)
            for side in (gold, control)
            for found, expected, eligible in (
                (piece, side.pieces, side.eligible),
                (word, side.words, side.eligible_words),
            )
        ]
        weights = [
            on_targets(seen.weights, torch.cat([gold.pieces[: len(self.offsets)], gold.question[None]])),
            merging(seen.weights, gold.text_word),
        ]
        names = ("hits", "cases", "chance")
        return {
            **{name: torch.cat(columns) for name, columns in zip(names, zip(*parts, strict=True), strict=True)},
            "weight": torch.cat([total for total, _ in weights]),
            "weight_rows": torch.cat([rows for _, rows in weights]),
        }

    def found(self, layers: Sequence[tuple[int, Found]]) -> Links:
        """Turn the sums of all layers, each with its number of heads, into counts and shares."""
        names, measured = link_names(self.offsets, self.labels.relations), weight_names(self.offsets)
        fixed = np.array([self._fixed_offset(kind, role) for kind, role, _ in names])  # [link]
        hits, cases, baseline, weight = [], [], [], []
        for heads, sums in [(0, {}), *layers]:
            of = {**_nothing(len(names), len(measured), heads), **sums}
            with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no case
                anywhere = of["chance"] / of["cases"]  # [link]
                weight.append((of["weight"] / of["weight_rows"][:, None]).T)
            hits.append(of["hits"].T)
            cases.append(np.tile(of["cases"], (heads, 1)))
            baseline.append(np.tile(np.where(np.isnan(fixed) | (of["cases"] == 0), anywhere, fixed), (heads, 1)))
        return Links(
            kind=np.array([kind for kind, _, _ in names], dtype=np.str_),
            role=np.array([role for _, role, _ in names], dtype=np.str_),
            labels=np.array([labels for _, _, labels in names], dtype=np.str_),
            hits=np.concatenate(hits),
            cases=np.concatenate(cases),
            baseline=np.concatenate(baseline),
            measure=np.array(measured, dtype=np.str_),
            weight=np.concatenate(weight),
            coverage=np.array(list(self.labels.coverage), dtype=np.str_),
            covered=np.array(list(self.labels.coverage.values()), dtype=np.int64),
        )

    def _fixed_offset(self, kind: str, role: str) -> float:
        """Return the baseline of a relation, equal in both directions; NaN for other links."""
        if kind != "syntactic":
            return math.nan
        return float(self.labels.baselines[self.labels.relations.index(role.rpartition(":")[0])])

    def _targets(self, seen: AttentionMap) -> tuple[Targets, Targets]:
        if self._sentences is not seen.sentences:
            self._sentences = seen.sentences
            self._built.clear()
        if seen.attention not in self._built:
            gold = targets(seen, self.labels, self.offsets)
            self._built[seen.attention] = gold, self._control(gold, seen.key_tokens)
        return self._built[seen.attention]

    def _control(self, gold: Targets, tokens: Tensor) -> Targets:
        pieces = shuffled(gold.pieces, gold.eligible, noise(tokens, gold.pieces.shape[-1], self.seed))
        words = shuffled(gold.words, gold.eligible_words, noise(tokens, gold.words.shape[-1], self.seed + 1))
        return replace(gold, pieces=pieces, words=words)


def _nothing(links: int, measured: int, heads: int) -> Found:
    """Return the sums of a layer that was not counted."""
    return {
        "hits": np.zeros((links, heads), dtype=np.int64),
        "cases": np.zeros(links, dtype=np.int64),
        "chance": np.zeros(links),
        "weight": np.zeros((measured, heads)),
        "weight_rows": np.zeros(measured, dtype=np.int64),
    }
