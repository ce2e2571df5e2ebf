"""From a corpus source to everything that training and evaluation read, with a manifest of what was done."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sentencepiece

from headcount import registry
from headcount.data.corpus import clean
from headcount.data.duplicates import near_duplicates
from headcount.data.encoded import Encoded
from headcount.data.lookup import lookup
from headcount.data.packing import pack, useful_share
from headcount.data.split import PARTS, split
from headcount.data.subword import Subword, round_trip, train_subword
from headcount.data.teacher import Translations, teach
from headcount.data.text import EXAMPLES, Pairs
from headcount.errors import UserError
from headcount.files import atomic_write

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.config import Study

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Layout:
    """Names of the files of a prepared corpus."""

    out: Path

    def text(self, part: str, side: str) -> Path:
        """Name the cleaned text of a part, one sentence a line; side is `source` or `target`."""
        return self.out / "corpus" / f"{part}.{side}"

    def encoded(self, part: str) -> Path:
        """Name the encoded pairs of a part."""
        return self.out / "encoded" / f"{part}.npz"

    @property
    def subword(self) -> Path:
        """The subword model."""
        return self.out / "subword.model"

    @property
    def near_duplicates(self) -> Path:
        """JSON list of the test lines with a near-duplicate in the training text, from 0."""
        return self.out / "near_duplicates.json"

    @property
    def lookup(self) -> Path:
        """Translations of the test set by the lookup baseline."""
        return self.out / "lookup.hypotheses"

    @property
    def manifest(self) -> Path:
        """What was read, dropped and written; the last file to appear."""
        return self.out / "manifest.json"


def prepare(study: Study, out: Path, translations: Translations | None = None) -> dict[str, Any]:
    """Read, clean, split and encode the corpus of a study into the folder `out`; return the manifest.

    Every file appears whole or not at all, the manifest last. Equal settings and text give equal bytes.
    `translations` are those of the training sources where `data.teacher` names a corpus.

    Raises:
        UserError: the source cannot be read, too few pairs are left, the teacher's translations do not fit, or the
            subword size is out of reach.

    """
    layout = Layout(out)
    layout.manifest.unlink(missing_ok=True)
    settings = study.data
    pairs = clean(registry.load("data.sources", settings.source).read(settings), settings)
    _report(pairs)
    cut = split(pairs, settings)
    for reason, unused in cut.unused.items():
        LOG.info("left out: %s x %s", f"{len(unused):,}", reason)
        for index in unused:
            pairs.drops.add(reason, pairs.rows[index])
    parts = {part: pairs.select(cut.parts[part]) for part in PARTS}
    taught: dict[str, Any] = {}
    if settings.teacher:
        parts["train"], taught["teacher"] = teach(parts["train"], settings, translations)
        LOG.info("training targets are translations: %s", taught["teacher"])
    for part in PARTS:
        _write_texts(layout, part, parts[part])
    train, test = parts["train"], parts["test"]
    sides = [layout.text("train", side) for side in ("source", "target")]
    train_subword(sides, layout.subword, **study.subword.model_dump(), seed=settings.split_seed)
    subword = Subword(layout.subword)
    encoded = {part: _encode(layout, part, parts[part], subword) for part in PARTS}
    near = near_duplicates(test.sources, train.sources)
    atomic_write(layout.near_duplicates, json.dumps(near) + "\n")
    atomic_write(layout.lookup, _text(lookup(train.sources, train.targets, test.sources)))
    manifest = {
        "name": pairs.name,
        "languages": [settings.source_language, settings.target_language],
        "licence": pairs.licence,
        "attribution": pairs.attribution,
        "origin": pairs.origin,
        "pairs": sum(map(len, parts.values())),
        "corpus_sha256": _hash(_text(f"{s}\t{t}" for s, t in zip(pairs.sources, pairs.targets, strict=True))),
        "dropped": pairs.dropped,
        "dropped_examples": pairs.examples,
        "cleaned": dict(pairs.notes),
        **taught,
        "split": {
            "seed": settings.split_seed,
            "components": cut.components,
            "largest_component": cut.largest,
            **{part: _part_entry(layout, part, encoded[part]) for part in PARTS},
        },
        "subword": {
            "size": subword.size,
            "asked": study.subword.vocabulary,
            "sha256": _hash(layout.subword.read_bytes()),
            "sentencepiece": sentencepiece.__version__,
            "threads": 1,
            "sampled": False,
        },
        "near_duplicates": {"test_sentences": len(near), "share": round(len(near) / len(test), 4)},
        "round_trip": {
            part: {
                side: round_trip(subword, getattr(parts[part], f"{side}s"), EXAMPLES) for side in ("source", "target")
            }
            for part in PARTS
        },
        "batches": _batches(encoded["train"], study),
    }
    atomic_write(layout.manifest, json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    return manifest


def _report(pairs: Pairs) -> None:
    LOG.info("%s: %s pairs kept; dropped: %s", pairs.name, f"{len(pairs):,}", pairs.drops.summary() or "none")
    for note, count in pairs.notes.most_common():
        LOG.info("cleaned: %s x %s", f"{count:,}", note)
    if not len(pairs):
        raise UserError(
            f"data: no pair of {pairs.name} is left; dropped: {pairs.drops.summary() or 'none, it is empty'}"
        )


def _write_texts(layout: Layout, part: str, pairs: Pairs) -> None:
    atomic_write(layout.text(part, "source"), _text(pairs.sources))
    atomic_write(layout.text(part, "target"), _text(pairs.targets))
    trees = None if pairs.trees is None else "".join(f"{tree}\n\n" for tree in pairs.trees)
    alignments = None if pairs.alignments is None else _text(pairs.alignments)
    for side, gold in (("conllu", trees), ("alignments", alignments)):
        layout.text(part, side).unlink(missing_ok=True)  # of another corpus, prepared here before
        if gold is not None:
            atomic_write(layout.text(part, side), gold)


def _encode(layout: Layout, part: str, pairs: Pairs, subword: Subword) -> Encoded:
    encoded = Encoded.from_lists(subword.encode(pairs.sources), subword.encode(pairs.targets))
    encoded.save(layout.encoded(part))
    return encoded


def _part_entry(layout: Layout, part: str, encoded: Encoded) -> dict[str, Any]:
    return {
        "pairs": len(encoded),
        "source_pieces": len(encoded.source_tokens),
        "target_pieces": len(encoded.target_tokens),
        "sha256": {side: _hash(layout.text(part, side).read_bytes()) for side in ("source", "target")},
    }


def _batches(train: Encoded, study: Study) -> dict[str, Any]:
    """Describe an epoch; neither number depends on the seed."""
    lengths = train.source_lengths, train.target_lengths
    batches = pack(*lengths, study.training.tokens_per_batch, np.random.default_rng(0))
    return {
        "tokens_per_batch": study.training.tokens_per_batch,
        "per_epoch": len(batches),
        "useful_token_share": round(useful_share(*lengths, batches), 4),
    }


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _hash(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
