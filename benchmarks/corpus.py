"""The text of all comparisons: every Tatoeba pair of English and German, prepared by headcount itself."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.environments import WORK
from headcount import config
from headcount.data.encoded import Encoded
from headcount.data.prepare import Layout, prepare
from headcount.plan import data_settings

DESCRIPTION = "Tatoeba en-de, all cleaned pairs, joint BPE of 4,000 pieces by headcount"

SETTINGS = {
    "study": "bench",
    "methods": [],
    "analyses": [],
    "data": {"source": "tatoeba", "tatoeba": {"words": 0, "frequent_words": 0}},
    "subword": {"vocabulary": 4000},
}


def prepared() -> Path:
    """Return the folder of the prepared corpus, which is made when it is missing or has other settings."""
    study = config.parse(SETTINGS)
    folder = WORK / "corpus"
    made = folder / "settings.json"
    wanted = data_settings(study)
    if not (Layout(folder).manifest.is_file() and made.is_file() and made.read_text(encoding="utf-8") == wanted):
        prepare(study, folder)
        made.write_text(wanted, encoding="utf-8")
    return folder


def export(corpus: Path, out: Path, pairs: int) -> None:
    """Write the training pairs, and `pairs` dev pairs, as lines of pieces, so that every toolkit sees equal tokens.

    A piece is written as its id. EOS is left out: every toolkit appends its own.
    """
    out.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev"):
        encoded = Encoded.load(Layout(corpus).encoded(part))
        number = len(encoded) if part == "train" else min(pairs, len(encoded))
        for side, sentence in (("source", encoded.source), ("target", encoded.target)):
            lines = (" ".join(map(str, sentence(index)[:-1].tolist())) for index in range(number))
            (out / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    pieces = json.loads(Layout(corpus).manifest.read_text(encoding="utf-8"))["subword"]["size"]
    (out / "pieces").write_text("".join(f"{piece}\n" for piece in range(4, pieces)), encoding="utf-8")
