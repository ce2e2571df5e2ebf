"""Record what each attention head of a model does over a corpus."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from headcount.data.encoded import Encoded
from headcount.data.spans import SpannedSubword
from headcount.data.text import read_lines
from headcount.data.trees import canonical, read_trees
from headcount.model import weights
from headcount.observe.labels import label, source_frequencies
from headcount.observe.links import LinkCounter
from headcount.observe.maps import MapKeeper, choose
from headcount.observe.record import record as observe

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not record again
    from headcount.settings import Roles

SENTENCES_PER_BATCH = 64

SHUFFLE_SEED = 1
"""Of the random labels that every head is also compared with."""

log = logging.getLogger(__name__)


def record(
    encoded: Path,
    out: Path,
    *,
    model: Path,
    text: Path,
    train: Path,
    subword: Path,
    trees: Path | None,
    settings: Roles,
) -> None:
    """Write the per-head summaries of one teacher-forced pass over `encoded`.

    Args:
        encoded: the encoded pairs that are watched.
        out: the observation.
        model: run folder.
        text: raw source sentences of the pairs.
        train: encoded training pairs, whose sources tell how frequent a piece is.
        subword: the SentencePiece model.
        trees: CoNLL-U of some or all of the sentences; without it nothing syntactic is measured.
        settings: which links are counted and how many maps are kept.

    """
    torch.set_num_threads(1)
    network = weights.load(model, torch.device("cpu"))
    corpus, pieces = Encoded.load(encoded), SpannedSubword(subword)
    labels = label(
        corpus,
        read_lines(text),
        subword=pieces,
        frequencies=source_frequencies(train, pieces.size),
        frequent=settings.rare_frequent_tokens,
        trees=read_trees(trees) if trees else [],
        relations=list(dict.fromkeys(map(canonical, settings.relations))),
        interrogatives=settings.interrogatives,
        question_marks=settings.question_marks,
    )
    log.info("%s", ", ".join(f"{count:,} {what}" for what, count in labels.coverage.items()))
    observe(
        network,
        corpus,
        sentences_per_batch=SENTENCES_PER_BATCH,
        links=LinkCounter(labels, settings.offsets, SHUFFLE_SEED),
        maps=MapKeeper(choose(labels, settings.maps), corpus, pieces.names),
    ).save(out)
