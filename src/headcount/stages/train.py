"""Train one run in its folder: settings in, final weights (or, of a lottery round, the kept heads) out."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.data.subword import Subword
from headcount.data.text import read_lines
from headcount.heads import BY_ROLE
from headcount.registry import load
from headcount.stages.begin.task import ROLES, Beginning, Task, rewind_name
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.device import choose_device
from headcount.train.distributed import joined
from headcount.train.journal import Journal
from headcount.train.loop import train as run_loop
from headcount.train.optim import NamedAdam
from headcount.train.runfolder import RunFolder
from headcount.train.usage import sampled
from headcount.train.validate import validate
from headcount.vocabulary import TOKENIZER

log = logging.getLogger(__name__)

BEGINNINGS = {
    "train_baseline": "scratch",
    "train_entmax": "scratch",
    "train_smaller": "scratch",
    "train_reinit": "scratch",
    "train_scratch": "scratch",
    "train_ticket": "ticket",
    "lottery_round": "lottery_round",
    "finetune_l0": "l0",
    "finetune_removed": "removed",
    "finetune_ranked": "ranked",
    "finetune_subset": "subset",
}
"""Stage -> the file of stages/begin that sets it up."""

LENGTH_RATIO, LENGTH_EXTRA = 2.0, 10
"""Longest translation when validating, fixed so that a change of the evaluation never trains anything again."""
SENTENCES_PER_BATCH = 100

DATA_FILES = ("subword.model", "encoded/train.npz", "encoded/dev.npz")
PARENT_FILES = ("model.safetensors", "model.json", "heads.json")


def train(
    settings: dict[str, Any], *, code: str, data: Path, out: Path, parents: Sequence[Path], rhythm: Rhythm
) -> None:
    """Train the run that `settings` describe, or go on with it from its newest checkpoint.

    Started by torchrun, this process is one of several ranks. The first owns the run folder and writes; the others
    train along.

    Args:
        settings: complete settings of the run, see `plan.Run`.
        code: fingerprint of the stage's code; checkpoints of other code or settings are not gone on from.
        data: folder of the prepared corpus.
        out: the run folder.
        parents: run folders that this run builds on.
        rhythm: of the checkpoints.

    Raises:
        UserError: something that the user can repair, for instance a non-finite loss or a full disk.
        InterruptedRun: a signal; everything is saved.

    """
    with joined() as ranks, contextlib.ExitStack() as owned:
        folder = RunFolder(out, settings)
        if ranks.first:
            owned.enter_context(folder)
            owned.enter_context(sampled(folder.usage))
        device = choose_device(settings["training"]["device"], settings["training"]["precision"], ranks.local)
        subword = Subword(data / "subword.model")
        dev = Encoded.load(data / "encoded" / "dev.npz")
        task = Task(settings, tuple(parents), out, subword.size, dev, device)
        beginning: Beginning = load("stages.begin", BEGINNINGS[settings["stage"]]).begin(task)
        training = task.training
        references = read_lines(data / "corpus" / "dev.target")[: training["validate_sentences"]]
        summary = run_loop(
            beginning.model,
            TokenBatches(
                Encoded.load(data / "encoded" / "train.npz"),
                tokens_per_batch=training["tokens_per_batch"],
                seed=task.seed if beginning.data_seed is None else beginning.data_seed,
            ),
            optimiser=NamedAdam(beginning.groups, beta1=training["adam_beta1"], beta2=training["adam_beta2"]),
            average=Average(
                updates=beginning.updates,
                points=beginning.average_checkpoints,
                every_updates=training["average_every_updates"],
            ),
            seed=task.seed,
            updates=beginning.updates,
            accumulate_batches=training["accumulate_batches"],
            label_smoothing=training["label_smoothing"],
            clip_norm=training["clip_norm"],
            skipped_updates=training["skipped_updates"],
            precision=training["precision"],
            journal=Journal(folder.journal, check_owner=folder.check_owner),
            checkpoints=Checkpoints(
                folder.checkpoints,
                identity=_identity(settings, code, data, parents),
                rhythm=rhythm,
                keep=settings.get("keep_updates", ()),
                check_owner=folder.check_owner,
            ),
            validate=functools.partial(
                validate,
                corpus=dev,
                references=references,
                decode=subword.decode,
                smoothing=training["label_smoothing"],
                sentences_per_batch=SENTENCES_PER_BATCH,
                tokenizer=settings.get("bleu_tokenizer", TOKENIZER),
                length_ratio=LENGTH_RATIO,
                length_extra=LENGTH_EXTRA,
            ),
            validate_every_updates=training["validate_every_updates"],
            start=beginning.start,
            hooks=beginning.hooks,
            ranks=ranks,
        )
        if ranks.first:
            folder.check_owner()
            beginning.finish()
            folder.record(**dataclasses.asdict(summary), device=device.type, ranks=ranks.size)
    log.info("%s: %d updates, %d target tokens, %.0f s", out, summary.updates, summary.tokens, summary.seconds)


def _identity(settings: dict[str, Any], code: str, data: Path, parents: Sequence[Path]) -> str:
    """Hash everything that decides the run's result: settings, code, PyTorch, corpus, and what the parents left."""
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(f"{code}\0{torch.__version__}\0{canonical}\0".encode())
    rewound = settings.get("lottery") or settings.get("ranked") or {}
    parent_files = [*PARENT_FILES, rewind_name(rewound.get("rewind_update", 0))]
    if settings.get("removal", {}).get("select") in BY_ROLE:
        parent_files.append(ROLES)
    inputs = [data / name for name in DATA_FILES] + [parent / name for parent in parents for name in parent_files]
    for path in inputs:
        if path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
