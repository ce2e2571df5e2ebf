"""How fast models with removed heads decode beside the dense one: measured, and as far as matrix products go."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from headcount.errors import UserError
from headcount.evaluate.macs import ceiling
from headcount.evaluate.masking import UNCOMPARED, compare, has_gaps, masked_twin
from headcount.evaluate.profile import seconds_by_kind
from headcount.evaluate.replay import Decode, Recording, record, replay
from headcount.heads import total
from headcount.model.decode import translate
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer

Search = Callable[..., list[list[int]]]
"""`translate` of a model, sources, beam and sentences_per_batch."""

Work = Callable[[Transformer], object]
"""What a model does in one turn."""

SENTENCES_A_TURN = 20
"""Fewest: models take turns often, but not so often that none finds its weights in the processor's cache."""


@dataclass(frozen=True)
class Condition:
    """A beam and batch size, the turns in which the sentences are decoded, and the pieces of each sentence.

    `lengths` are those of the source and of the dense model's translation, EOS included.
    """

    beam: int
    sentences_per_batch: int
    works: list[Work]
    lengths: list[tuple[int, int]]


@dataclass(frozen=True)
class Subjects:
    """The models of a comparison: one of each structure, and what is known of all without the clock.

    Attributes:
        configs: run id -> config, the dense model first.
        first: structure -> the first run that has it.
        models: structure -> the model of that run.
        masked: structure with all heads -> the masked twin of the first model that lacks some of them.
        equality: run id -> whether removing its heads equals masking them.

    """

    configs: dict[str, ModelConfig] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    models: dict[str, Transformer] = field(default_factory=dict)
    masked: dict[str, Transformer] = field(default_factory=dict)
    equality: dict[str, dict[str, Any]] = field(default_factory=dict)


def time_decoding(
    models: Iterable[tuple[str, Transformer]],
    sources: Sequence[Sequence[int]],
    *,
    repeats: int,
    beams: Sequence[int],
    batches: Sequence[int],
    length_penalty: float,
    length_ratio: float,
    length_extra: int,
) -> list[dict[str, Any]]:
    """Time beam search on one thread for each beam and batch size, and compare removed models with masked ones.

    Every model follows the search of the dense one (`evaluate.replay`), so that the time is one of its structure: its
    sizes, its normalisers and how many heads each layer has. Models of one structure are timed once; one of another
    width cannot follow and searches by itself. Repetitions of all are interleaved, some sentences at a time, so that a
    slow moment of the machine hits all. Time is the thread's CPU time: equal to the clock on an idle core, and not
    disturbed by waiting for a busy one. A masked twin has the removed heads back as zeros: the same function at the
    price of the dense model.

    Args:
        models: run id and model in float32 on the CPU, the dense model first; one of each structure is kept.
        sources: pieces of the sentences, each ending in EOS.
        repeats: timed repetitions; one more comes before them, untimed.
        beams: beam sizes.
        batches: numbers of sentences decoded together.
        length_penalty: exponent of the length penalty.
        length_ratio: longest translation as a multiple of the source's pieces.
        length_extra: pieces added to that limit.

    Returns:
        A row for each condition and model, the rows of the first beam and batch size first: `run`, `timed_run` (the
        run of its structure that was timed), `heads`, `beam`, `sentences_per_batch`, `seconds_per_sentence` (median)
        with `low` and `high` (fastest and slowest repetition), `speedup_vs_dense`, `ceiling` (`evaluate.macs`);
        where heads were removed `masked_seconds_per_sentence`, `speedup_vs_masked`, `max_logit_difference` and
        `identical_outputs` (compared once for all conditions), else None; `profile` of the dense model and of the
        smallest one, CPU-seconds a sentence by kind of operation, else None. A speed-up is the median over the
        repetitions of the ratio within a repetition.

    Raises:
        UserError: there is no sentence.

    """
    sentences = sorted((list(source) for source in sources if source), key=len)
    if not sentences:
        raise UserError("speed: there is no sentence to decode")
    search: Search = functools.partial(
        translate, length_penalty=length_penalty, max_length=(length_ratio, length_extra)
    )
    with _one_thread():
        subjects = _survey(models, sentences, functools.partial(search, beam=beams[0]), max(batches))
        dense = next(iter(subjects.models.values()))
        conditions = itertools.product(beams, batches)
        return [row for each in conditions for row in _rows(subjects, _along(dense, sentences, search, *each), repeats)]


def structure(config: ModelConfig) -> str:
    """Return what decides how long a step takes, equal for models that differ in weights and ids of heads only."""
    values = config.to_dict() | {"dropout": 0.0, "attention_dropout": 0.0}
    kept = {kind: [len(ids) for ids in rows] for kind, rows in config.kept.items()}
    return json.dumps(values | {"kept": kept}, sort_keys=True)


def _survey(
    models: Iterable[tuple[str, Transformer]], sentences: list[list[int]], search: Search, batch: int
) -> Subjects:
    """Compare each model with its masked twin, and keep one of each structure."""
    found = Subjects()
    decode: Decode = functools.partial(search, sources=sentences, sentences_per_batch=batch)
    for run, model in models:
        model.eval()
        found.configs[run], found.equality[run] = model.config, UNCOMPARED
        if structure(model.config) not in found.first:
            found.first[structure(model.config)] = run
            found.models[structure(model.config)] = model
        if has_gaps(model):
            twin = masked_twin(model)
            found.masked.setdefault(structure(twin.config), twin)
            found.equality[run] = compare(model, twin, sentences, decode, batch)
    return found


def _along(dense: Transformer, sentences: list[list[int]], search: Search, beam: int, batch: int) -> Condition:
    """Let the dense model search, and return what every model does along that search."""
    works: list[Work] = []
    lengths: list[tuple[int, int]] = []
    size = max(batch, SENTENCES_A_TURN)
    for start in range(0, len(sentences), size):
        turn = sentences[start : start + size]
        decode: Decode = functools.partial(search, sources=turn, beam=beam, sentences_per_batch=batch)
        recording = record(dense, decode)
        works.append(functools.partial(_follow, decode=decode, recording=recording))
        lengths += [(len(source), len(output) + 1) for source, output in zip(turn, recording.outputs, strict=True)]
    return Condition(beam, batch, works, lengths)


def _follow(model: Transformer, decode: Decode, recording: Recording) -> None:
    if model.output_weight.shape == recording.output_weight.shape:
        replay(model, decode, recording)
    else:
        decode(model)


def _rows(subjects: Subjects, condition: Condition, repeats: int) -> list[dict[str, Any]]:
    """Time every structure and return a row for each model."""
    timed = _seconds([*subjects.models.values(), *subjects.masked.values()], condition, repeats)
    removed = dict(zip(subjects.models, timed[: len(subjects.models)], strict=True))  # structure -> its repetitions
    masked = dict(zip(subjects.masked, timed[len(subjects.models) :], strict=True))
    dense = next(iter(subjects.configs.values()))
    profiled = {
        key: _profile(subjects.models[key], condition, removed[key]) for key in {structure(dense), _smallest(subjects)}
    }

    def row(run: str, config: ModelConfig) -> dict[str, Any]:
        own = structure(config)
        twin = masked[structure(replace(config, kept={}))] if subjects.equality[run] != UNCOMPARED else None
        return {
            "run": run,
            "timed_run": subjects.first[own],
            "heads": total(config.kept),
            "beam": condition.beam,
            "sentences_per_batch": condition.sentences_per_batch,
            "seconds_per_sentence": statistics.median(removed[own]),
            "low": min(removed[own]),
            "high": max(removed[own]),
            "speedup_vs_dense": _speedup(removed[structure(dense)], removed[own]),
            "ceiling": ceiling(dense, config, condition.lengths, condition.beam),
            "masked_seconds_per_sentence": statistics.median(twin) if twin else None,
            "speedup_vs_masked": _speedup(twin, removed[own]) if twin else None,
            **subjects.equality[run],
            "profile": profiled.get(own) if run == subjects.first[own] else None,
        }

    return [row(run, config) for run, config in subjects.configs.items()]


def _seconds(models: Sequence[Transformer], condition: Condition, repeats: int) -> list[list[float]]:
    """Return for each model the CPU-seconds a sentence of each repetition; another model begins each turn."""
    seconds = [[0.0] * (1 + repeats) for _ in models]
    for turn, (repeat, work) in enumerate(itertools.product(range(1 + repeats), condition.works)):
        for place in range(len(models)):
            index = (turn + place) % len(models)
            started = time.process_time()
            work(models[index])
            seconds[index][repeat] += (time.process_time() - started) / len(condition.lengths)
    return [repetitions[1:] for repetitions in seconds]


def _smallest(subjects: Subjects) -> str:
    """Return the structure with the fewest heads of those that have the first one's sizes and normalisers."""
    configs = {structure(config): config for config in subjects.configs.values()}
    whole = structure(replace(next(iter(configs.values())), kept={}))
    alike = [key for key, config in configs.items() if structure(replace(config, kept={})) == whole]
    return min(alike, key=lambda key: total(configs[key].kept))


def _profile(model: Transformer, condition: Condition, seconds: Sequence[float]) -> dict[str, float]:
    """Return the CPU-seconds a sentence by kind of operation, which add up to the median of the timed ones."""
    passes = [[seconds_by_kind(functools.partial(work, model)) for work in condition.works] for _ in seconds]
    kinds = {
        kind: statistics.median(sum(turn[kind] for turn in turns) for turns in passes) / len(condition.lengths)
        for kind in passes[0][0]
    }
    return {**kinds, "rest": max(0.0, statistics.median(seconds) - sum(kinds.values()))}


def _speedup(slow: Sequence[float], fast: Sequence[float]) -> float:
    return statistics.median(before / after for before, after in zip(slow, fast, strict=True))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
