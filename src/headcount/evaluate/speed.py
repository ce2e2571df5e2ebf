"""How fast removed models decode beside the dense one, and whether removing heads equals masking them."""

from __future__ import annotations

import contextlib
import functools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from headcount.errors import UserError
from headcount.heads import total
from headcount.model.decode import translate
from headcount.model.surgery import expand_heads
from headcount.model.transformer import Transformer
from headcount.vocabulary import BOS, PAD

Decode = Callable[[Transformer], list[list[int]]]


@dataclass
class Timed:
    """A model, its translations and the CPU-seconds a sentence of each repetition."""

    model: Transformer
    outputs: list[list[int]]
    seconds: list[float] = field(default_factory=list)


def time_decoding(
    models: Mapping[str, Transformer],
    sources: Sequence[Sequence[int]],
    *,
    dense: str,
    repeats: int,
    beam: int,
    length_penalty: float,
    length_ratio: float,
    length_extra: int,
    sentences_per_batch: int,
) -> list[dict[str, Any]]:
    """Time beam search on one thread, and compare every removed model with its masked twin.

    The repetitions of all models are interleaved on the same batches, so that a slow moment of the machine hits all
    of them. Time is the thread's CPU time: equal to the clock on an idle core, and not disturbed by waiting for a
    busy one. A masked twin has the removed heads back as zeros: the same function at the price of the dense model.

    Args:
        models: run id -> model in float32 on the CPU.
        sources: pieces of the sentences, each ending in EOS.
        dense: id of the model that the others are compared with.
        repeats: timed repetitions; one more comes before them, untimed.
        beam: beam size.
        length_penalty: exponent of the length penalty.
        length_ratio: longest translation as a multiple of the source's pieces.
        length_extra: pieces added to that limit.
        sentences_per_batch: sentences decoded together.

    Returns:
        One row a model: `run`, `heads`, `seconds_per_sentence` (median) with `low` and `high` (fastest and slowest
        repetition), `speedup_vs_dense`, and where heads were removed `masked_seconds_per_sentence`,
        `speedup_vs_masked`, `max_logit_difference` and `identical_outputs`, else None. A speed-up is the median
        over the repetitions of the ratio within a repetition.

    Raises:
        UserError: `dense` is no model, or there is no sentence.

    """
    if dense not in models:
        raise UserError(f"speed: there is no model {dense!r}; allowed: {', '.join(models)}")
    sentences = [list(source) for source in sources if source]
    if not sentences:
        raise UserError("speed: there is no sentence to decode")
    decode: Decode = functools.partial(
        translate,
        sources=sentences,
        beam=beam,
        length_penalty=length_penalty,
        max_length=(length_ratio, length_extra),
        sentences_per_batch=sentences_per_batch,
    )
    with _one_thread():
        removed = {run: _timed(model, decode) for run, model in models.items()}
        masked = {run: _timed(masked_twin(model), decode) for run, model in models.items() if _has_gaps(model)}
        everything = [*removed.values(), *masked.values()]
        for repeat in range(repeats):
            shift = repeat % len(everything)  # no model is always the first
            for timed in everything[shift:] + everything[:shift]:
                started = time.process_time()
                decode(timed.model)
                timed.seconds.append((time.process_time() - started) / len(sentences))
        return [
            _row(run, timed, removed[dense], masked.get(run), sentences, sentences_per_batch)
            for run, timed in removed.items()
        ]


def masked_twin(model: Transformer) -> Transformer:
    """Return a model of full size that computes the same: the missing heads are there, their weights are zeros."""
    state, config = expand_heads(model.state_dict(), model.config)
    twin = Transformer(config)
    twin.load_state_dict(state)
    return twin.eval()


@torch.no_grad()
def largest_logit_difference(
    one: Transformer,
    other: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    sentences_per_batch: int,
) -> float:
    """Return the largest difference of two models' logits over all real positions of the given translations."""
    largest = 0.0
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    for start in range(0, len(order), sentences_per_batch):
        ids = order[start : start + sentences_per_batch]
        source = _padded([sources[index] for index in ids])  # [batch, source]
        target = _padded([[BOS, *targets[index]] for index in ids])  # [batch, target]
        gap = (one(source, target) - other(source, target)).abs().amax(-1)  # [batch, target]
        largest = max(largest, float(gap[target != PAD].max()))
    return largest


def _row(
    run: str,
    timed: Timed,
    dense: Timed,
    twin: Timed | None,
    sources: list[list[int]],
    sentences_per_batch: int,
) -> dict[str, Any]:
    row = {
        "run": run,
        "heads": total(timed.model.config.kept),
        "seconds_per_sentence": statistics.median(timed.seconds),
        "low": min(timed.seconds),
        "high": max(timed.seconds),
        "speedup_vs_dense": _speedup(dense, timed),
        "masked_seconds_per_sentence": None,
        "speedup_vs_masked": None,
        "max_logit_difference": None,
        "identical_outputs": None,
    }
    if twin is None:
        return row
    return row | {
        "masked_seconds_per_sentence": statistics.median(twin.seconds),
        "speedup_vs_masked": _speedup(twin, timed),
        "max_logit_difference": largest_logit_difference(
            timed.model, twin.model, sources, twin.outputs, sentences_per_batch
        ),
        "identical_outputs": timed.outputs == twin.outputs,
    }


def _timed(model: Transformer, decode: Decode) -> Timed:
    """Decode once without timing: the translations, and warm caches."""
    return Timed(model.eval(), decode(model))


def _has_gaps(model: Transformer) -> bool:
    return any(len(ids) < model.config.heads for rows in model.config.kept.values() for ids in rows)


def _speedup(slow: Timed, fast: Timed) -> float:
    return statistics.median(before / after for before, after in zip(slow.seconds, fast.seconds, strict=True))


def _padded(sentences: Sequence[Sequence[int]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(ids) for ids in sentences], batch_first=True, padding_value=PAD)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
