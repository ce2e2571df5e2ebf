"""Record what each attention head of a model does over a corpus."""

from __future__ import annotations

from pathlib import Path

import torch

from headcount.data.encoded import Encoded
from headcount.model import weights
from headcount.observe.record import record as observe

SENTENCES_PER_BATCH = 64


def record(encoded: Path, out: Path, *, model: Path) -> None:
    """Write the per-head summaries of one teacher-forced pass over `encoded`."""
    torch.set_num_threads(1)
    network = weights.load(model, torch.device("cpu"))
    observe(network, Encoded.load(encoded), sentences_per_batch=SENTENCES_PER_BATCH).save(out)
