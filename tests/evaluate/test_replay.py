from __future__ import annotations

import functools
from dataclasses import replace

import pytest
from small_models import SENTENCES, model
from torch import Tensor

from headcount.evaluate.replay import record, replay
from headcount.model.cache import Cache
from headcount.model.decode import translate
from headcount.model.transformer import Transformer

decode = functools.partial(
    translate,
    sources=SENTENCES[:3],
    beam=2,
    length_penalty=0.6,
    max_length=(1.0, 4),
    sentences_per_batch=2,
)


def test_recording_changes_nothing() -> None:
    dense = model()
    assert record(dense, decode).outputs == decode(dense)
    assert dense.training


def test_another_model_does_the_steps_of_the_recorded_search(monkeypatch: pytest.MonkeyPatch) -> None:
    dense, other = model().eval(), model(5, encoder=[[1]]).eval()
    assert decode(other) != decode(dense)
    steps: dict[int, list[tuple[list[list[int]], int]]] = {id(dense): [], id(other): []}
    plain = Transformer.step

    def step(self: Transformer, pieces: Tensor, cache: Cache) -> Tensor:
        steps[id(self)].append((pieces.tolist(), cache.length))
        return plain(self, pieces, cache)

    monkeypatch.setattr(Transformer, "step", step)
    recording = record(dense, decode)
    replay(other, decode, recording)
    assert steps[id(other)] == steps[id(dense)]
    assert len(recording.states) == len(steps[id(dense)])


def test_another_outcome_is_noticed() -> None:
    dense = model()
    recording = record(dense, decode)
    with pytest.raises(ValueError, match="differs from the recorded one"):
        replay(dense, decode, replace(recording, outputs=[[*recording.outputs[0], 4], *recording.outputs[1:]]))
