"""Whether a study can run here, told before its first job: every fault at once, one line each."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console

from headcount import plan
from headcount.config import Study, studies
from headcount.data import teacher
from headcount.errors import UserError
from headcount.evaluate.score import tokenizer_signature
from headcount.registry import load
from headcount.tracking import store
from headcount.tracking.describe import write_note
from headcount.train.device import choose_device
from headcount.vocabulary import APERTIUM

RESULTS = Path("results")
BYTES_PER_PARAMETER = 4 * 3 * 4
"""Float32 weights and two Adam moments, in the checkpoints that a run keeps and its final files."""


def check(study: Study, *, cluster: bool) -> None:
    """Print one line for each requirement of the study that is met.

    Args:
        study: complete settings.
        cluster: the jobs run on other machines. Whether those have a GPU is not known here: a job that was promised
            one and finds none says so when it starts.

    Raises:
        UserError: something is missing; the message holds every fault.

    """
    faults = []
    console = Console(stderr=True)
    for name, question in _questions(study, cluster).items():
        try:
            console.print(f"[green]ok[/green]   {name:10} {question()}", highlight=False, soft_wrap=True)
        except UserError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise UserError("\n".join(faults))


def _questions(study: Study, cluster: bool) -> dict[str, Callable[[], str]]:
    return {
        "settings": lambda: f"{study.study}: {len(plan.runs(study))} runs, corpora {', '.join(studies(study))}",
        "plugins": lambda: _plugins(study),
        "corpora": lambda: _corpora(study),
        "parser": lambda: _parsers(study),
        "scores": lambda: _tokenizers(study),
        "disk": lambda: _disk(study),
        "device": lambda: _device(study, cluster),
        "tracking": lambda: _tracking(study),
    }


def _plugins(study: Study) -> str:
    used: list[tuple[str, str]] = []
    for run in plan.runs(study).values():
        used += [("pruning.scorers", run.scorer)] if run.scorer else []
        used += [("model.normalise", name) for name in run.settings.get("model", {}).get("normalisers", {}).values()]
    for package, name in dict.fromkeys(used):
        load(package, name)
    return ", ".join(dict.fromkeys(name for _, name in used))


def _corpora(study: Study) -> str:
    said = []
    for name, settings in studies(study).items():
        source = settings.data.source
        if (RESULTS / study.study / "data" / name / "manifest.json").is_file():
            said.append(f"{name} ({source}): prepared")
        else:
            said.append(f"{name} ({source}): {load('data.sources', source).reachable(settings.data)}")
            if settings.data.teacher == APERTIUM:
                said.append(f"{name} taught by {teacher.reachable(settings.data)}")
    return "; ".join(said)


def _parsers(study: Study) -> str:
    wanted = {settings.roles.parser for settings in studies(study).values() if settings.needs_parser}
    for name in sorted(wanted):
        if importlib.util.find_spec("spacy") is None or importlib.util.find_spec(name) is None:
            raise UserError(
                f"roles.parser: {name!r} is not installed; run `make setup`, give your own trees in roles.trees, "
                "or set roles.parser to '' to go without syntactic heads"
            )
    return ", ".join(sorted(wanted)) or "none needed"


def _tokenizers(study: Study) -> str:
    names = {settings.evaluation.bleu_tokenizer for settings in studies(study).values()}
    return ", ".join(tokenizer_signature(name) for name in sorted(names))


def _disk(study: Study) -> str:
    settings = studies(study)
    needed = (100 << 20) + sum(
        _parameters(settings[run.corpus]) for run in plan.runs(study).values()
    ) * BYTES_PER_PARAMETER
    RESULTS.mkdir(exist_ok=True)
    free = shutil.disk_usage(RESULTS).free
    if free < needed:
        raise UserError(f"{RESULTS.resolve()}: {free / 1e9:.1f} GB free, about {needed / 1e9:.1f} GB needed")
    return f"{free / 1e9:.0f} GB free, about {needed / 1e9:.1f} GB needed"


def _parameters(study: Study) -> int:
    width, layers = study.model.width, study.model.layers_encoder + study.model.layers_decoder
    return 3 * study.subword.vocabulary * width + layers * (8 * width**2 + 2 * width * study.model.feed_forward)


def _device(study: Study, cluster: bool) -> str:
    wanted = {(of.training.device, of.training.precision) for of in studies(study).values()}
    return "; ".join(_device_of(*pair, cluster) for pair in sorted(wanted))


def _device_of(device: str, precision: str, cluster: bool) -> str:
    if cluster and device != "cpu":
        return f"{device}, looked for by each job where it runs"
    chosen = choose_device(device, precision)
    name = torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else f"{torch.get_num_threads()} threads"
    return f"{chosen.type} ({name})"


def _tracking(study: Study) -> str:
    folder = RESULTS / study.study
    write_note(study, folder)
    return store.init(study.tracking.uri, folder) if study.tracking.enabled else "off"
