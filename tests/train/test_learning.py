"""A small Transformer learns a task that cannot be done without attention, and what validation says of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import torch
from tiny_training import adam, corpus, make_model, run

from headcount.data.batching import make_batch
from headcount.data.encoded import Encoded
from headcount.model.transformer import Transformer
from headcount.train.checkpoint import Rhythm
from headcount.train.journal import read
from headcount.train.validate import validate
from headcount.vocabulary import PAD


def _decode(sentences: Sequence[Sequence[int]]) -> list[str]:
    return [" ".join(f"w{piece}" for piece in sentence) for sentence in sentences]


def _references(data: Encoded, sentences: int) -> list[str]:
    return _decode([data.target(index)[:-1].tolist() for index in range(sentences)])


def _validation(data: Encoded, sentences: int, sentences_per_batch: int = 40) -> partial[dict[str, float]]:
    return partial(
        validate,
        corpus=data,
        references=_references(data, sentences),
        decode=_decode,
        smoothing=0.1,
        sentences_per_batch=sentences_per_batch,
        length_ratio=2.0,
        length_extra=5,
        tokenizer="none",
    )


def _accuracy(model: Transformer, data: Encoded) -> float:
    batch = make_batch(data, range(len(data)))
    with torch.no_grad():
        predicted = model(batch.source, batch.target_input).argmax(-1)  # [sentence, target]
    return float((predicted == batch.target_output)[batch.target_output != PAD].float().mean())


def _unseen(training: Encoded, pairs: int) -> Encoded:
    seen = {training.source(index).tobytes() for index in range(len(training))}
    fresh = corpus(pairs, seed=2)
    kept = [index for index in range(pairs) if fresh.source(index).tobytes() not in seen]
    return Encoded.from_lists(
        [fresh.source(index).tolist() for index in kept], [fresh.target(index).tolist() for index in kept]
    )


def test_learns_to_reverse_sequences_it_never_saw(tmp_path: Path):
    training = corpus(2000)
    dev = _unseen(training, 150)
    model = make_model(dropout=0.0, width=32)
    model, _ = run(
        tmp_path,
        updates=600,
        model=model,
        optimiser=adam(model, peak=0.01, warmup_updates=100),
        data=training,
        tokens_per_batch=300,
        validate=_validation(dev, 30),
        validate_every_updates=300,
        rhythm=Rhythm(300, 1e6),
    )
    assert _accuracy(model, dev) >= 0.95
    first, last = (line for line in read(tmp_path / "journal.jsonl") if "valid/loss" in line)
    assert last["valid/nll"] < first["valid/nll"]
    assert last["valid/nll"] < last["valid/loss"]
    assert last["valid/bleu"] > 80


def test_validation_is_independent_of_its_batches():
    model = make_model().eval()
    data = corpus(30)
    with torch.no_grad():
        values = [_validation(data, 10, sentences_per_batch=size)(model) for size in (1, 7, 30)]
    for other in values[1:]:
        assert other == pytest.approx(values[0], rel=1e-5)


def test_an_untrained_model_scores_nothing_and_fails_nothing():
    with torch.no_grad():
        values = _validation(corpus(20), 20)(make_model().eval())
    assert set(values) == {"valid/loss", "valid/nll", "valid/bleu"}
    assert 0 <= values["valid/bleu"] < 20
    assert values["valid/nll"] > 2
