"""Decoding along the search of another model, so that models differ in the cost of a step and not in their number.

What a model translates decides how long it searches: a pruned model whose translations are shorter would seem faster
than its matrices are. Along a recorded search every model computes its own states for the same hypotheses, and the
search goes on with the recorded ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from headcount.model.cache import Cache
from headcount.model.transformer import Transformer

Decode = Callable[[Transformer], list[list[int]]]
"""Searches with a model: the translations of some sentences."""


@dataclass(frozen=True)
class Recording:
    """A search that was done once.

    Attributes:
        outputs: its translations.
        output_weight: of the model that searched, [vocabulary, width].
        states: of each step, [sentence, hypothesis, width].

    """

    outputs: list[list[int]]
    output_weight: Tensor
    states: list[Tensor]


def record(model: Transformer, decode: Decode) -> Recording:
    """Search with a model and keep what decides where the search goes."""
    recorder = _Recorder(model)
    outputs = decode(_as_model(recorder))
    return Recording(outputs, model.output_weight, recorder.states)


def replay(model: Transformer, decode: Decode, recording: Recording) -> None:
    """Let a model of the same width and vocabulary do the work of a recorded search.

    Raises:
        ValueError: the search took another course, so `decode` is not what was recorded.

    """
    follower = _Follower(model, recording)
    if decode(_as_model(follower)) != recording.outputs:
        raise ValueError("the search differs from the recorded one")


class _Recorder(nn.Module):
    """What `translate` needs of a model; keeps the states of each step."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model
        self.output_weight = model.output_weight
        self.states: list[Tensor] = []

    def start(self, source: Tensor) -> Cache:
        return self.model.start(source)

    def step(self, pieces: Tensor, cache: Cache) -> Tensor:
        self.states.append(self.model.step(pieces, cache))
        return self.states[-1]


class _Follower(nn.Module):
    """What `translate` needs of a model; computes each step and hands on the recorded states."""

    def __init__(self, model: Transformer, recording: Recording) -> None:
        super().__init__()
        self.model = model
        self.output_weight = recording.output_weight
        self.states: Iterator[Tensor] = iter(recording.states)

    def start(self, source: Tensor) -> Cache:
        return self.model.start(source)

    def step(self, pieces: Tensor, cache: Cache) -> Tensor:
        self.model.step(pieces, cache)
        return next(self.states)


def _as_model(part: nn.Module) -> Transformer:
    return cast(Transformer, part)
