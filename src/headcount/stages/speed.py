"""Time dense against removed models along the same search, and prove on real sentences that removing equals masking."""

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
    beams: list[int],
    batches: list[int],
    length_penalty: float,
    length_ratio: float,
    length_extra: int,
) -> None:
    """Write the timings of the named runs, the first of which is the dense model, as JSON."""
    torch.set_num_threads(1)
    rows = time_decoding(
        ((name, weights.load(runs / name, torch.device("cpu"))) for name in names),
        Subword(subword).encode(read_lines(text)[:sentences]),
        repeats=repeats,
        beams=beams,
        batches=batches,
        length_penalty=length_penalty,
        length_ratio=length_ratio,
        length_extra=length_extra,
    )
    conditions = {
        "sentences": sentences,
        "repeats": repeats,
        "beams": beams,
        "batches": batches,
        "threads": torch.get_num_threads(),
        "device": "cpu",
    }
    atomic_write(out, json.dumps({"conditions": conditions, "rows": rows}, indent=2) + "\n")
    structures = len({row["timed_run"] for row in rows})
    log.info(
        "timed %d structures of %d models, %d conditions: %s", structures, len(names), len(rows) // len(names), out
    )
