"""Time dense against removed models on the same sentences, and prove on real ones that removing equals masking."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import torch

from headcount.data.subword import Subword
from headcount.data.text import read_lines
from headcount.evaluate.speed import time_decoding
from headcount.files import atomic_write
from headcount.model import weights

log = logging.getLogger(__name__)


def speed(
    names: list[str],
    out: Path,
    *,
    runs: Path,
    subword: Path,
    text: Path,
    sentences: int,
    repeats: int,
    beam: int,
    length_penalty: float,
    length_ratio: float,
    length_extra: int,
    sentences_per_batch: int,
) -> None:
    """Write the timings of the named runs, the first of which is the dense model, as JSON."""
    torch.set_num_threads(1)
    models = {name: weights.load(runs / name, torch.device("cpu")) for name in names}
    rows = time_decoding(
        models,
        Subword(subword).encode(read_lines(text)[:sentences]),
        dense=names[0],
        repeats=repeats,
        beam=beam,
        length_penalty=length_penalty,
        length_ratio=length_ratio,
        length_extra=length_extra,
        sentences_per_batch=sentences_per_batch,
    )
    conditions = {
        "sentences": sentences,
        "repeats": repeats,
        "beam": beam,
        "sentences_per_batch": sentences_per_batch,
        "threads": torch.get_num_threads(),
        "device": "cpu",
    }
    atomic_write(out, json.dumps({"conditions": conditions, "rows": rows}, indent=2) + "\n")
    log.info("timed %d models: %s", len(rows), out)
