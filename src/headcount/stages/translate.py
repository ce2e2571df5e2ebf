"""Translate a text file with a trained model, line by line."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import torch

from headcount.data.subword import Subword
from headcount.data.text import read_lines
from headcount.files import atomic_write
from headcount.model import weights
from headcount.model.decode import translate as decode
from headcount.train.device import choose_device

log = logging.getLogger(__name__)


def translate(
    source: Path,
    out: Path,
    *,
    model: Path,
    subword: Path,
    beam: int,
    length_penalty: float,
    length_ratio: float,
    length_extra: int,
    sentences_per_batch: int,
) -> None:
    """Write one translation for each line of `source`; a blank line gives a blank line.

    Raises:
        UserError: a file is missing or the model folder is incomplete.

    """
    torch.set_num_threads(1)  # the rules run one job a core; a user's lone call is bound by latency, not by cores
    sentences = read_lines(source)
    pieces = Subword(subword)
    network = weights.load(model, choose_device("auto"))
    started = time.monotonic()
    encoded = [ids if text.strip() else [] for text, ids in zip(sentences, pieces.encode(sentences), strict=True)]
    decoded = decode(
        network,
        encoded,
        beam=beam,
        length_penalty=length_penalty,
        max_length=(length_ratio, length_extra),
        sentences_per_batch=sentences_per_batch,
    )
    atomic_write(out, "".join(f"{line}\n" for line in pieces.decode(decoded)))
    seconds = time.monotonic() - started
    log.info("%d sentences in %.1f s, beam %d: %s", len(sentences), seconds, beam, out)
