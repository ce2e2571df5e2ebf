"""Whether a study can run here, told before its first job: every fault at once, one line each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console

from headcount import plan
from headcount.config import Study
from headcount.errors import UserError
from headcount.registry import load
from headcount.tracking import store
from headcount.train.device import choose_device

RESULTS = Path("results")
BYTES_PER_PARAMETER = 4 * 3 * 4
"""Float32 weights and two Adam moments, in the checkpoints that a run keeps and its final files."""


def check(study: Study) -> None:
    """Print one line for each requirement of the study that is met.

    Raises:
        UserError: something is missing; the message holds every fault.

    """
    faults = []
    console = Console(stderr=True)
    for name, question in _questions(study).items():
        try:
            console.print(f"[green]ok[/green]   {name:10} {question()}", highlight=False, soft_wrap=True)
        except UserError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise UserError("\n".join(faults))


def _questions(study: Study) -> dict[str, Callable[[], str]]:
    return {
        "settings": lambda: f"{study.study}: {len(plan.runs(study))} runs, seeds {list(study.seeds)}",
        "plugins": lambda: _plugins(study),
        "corpus": lambda: _corpus(study),
        "disk": lambda: _disk(study),
        "device": lambda: _device(study),
        "tracking": lambda: _tracking(study),
    }


def _plugins(study: Study) -> str:
    used = [("data.sources", study.data.source), ("pruning.scorers", study.lottery.scorer)]
    used += [("model.normalise", name) for name in (plan.BASELINE, *study.entmax.normalisers)]
    for package, name in used:
        load(package, name)
    return ", ".join(dict.fromkeys(name for _, name in used))


def _corpus(study: Study) -> str:
    if Path("results", study.study, "data", "manifest.json").is_file():
        return f"{study.data.source}: prepared"
    return f"{study.data.source}: {load('data.sources', study.data.source).reachable(study.data)}"


def _disk(study: Study) -> str:
    width, layers = study.model.width, study.model.layers_encoder + study.model.layers_decoder
    parameters = 3 * study.subword.vocabulary * width + layers * (8 * width**2 + 2 * width * study.model.feed_forward)
    needed = len(plan.runs(study)) * parameters * BYTES_PER_PARAMETER + (100 << 20)
    RESULTS.mkdir(exist_ok=True)
    free = shutil.disk_usage(RESULTS).free
    if free < needed:
        raise UserError(f"{RESULTS.resolve()}: {free / 1e9:.1f} GB free, about {needed / 1e9:.1f} GB needed")
    return f"{free / 1e9:.0f} GB free, about {needed / 1e9:.1f} GB needed"


def _device(study: Study) -> str:
    device = choose_device(study.training.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    return f"{device.type} ({name})"


def _tracking(study: Study) -> str:
    if not study.tracking.enabled:
        return "off"
    return store.init(study.tracking.uri, study)
