"""The positive control: a language whose agreement and word order need attention is learned, and lost without heads."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch

from headcount.config import parse
from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.data.prepare import prepare
from headcount.data.subword import Subword
from headcount.data.text import read_lines
from headcount.heads import without
from headcount.model.decode import translate
from headcount.model.shape import ModelConfig
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, Rhythm
from headcount.train.journal import Journal
from headcount.train.loop import train
from headcount.train.optim import Group, NamedAdam, inverse_sqrt, trainable

UPDATES = 700
HEADS = 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    data = {"source": "synthetic", "synthetic": {"pairs": 4000}, "dev_sentences": 50, "test_sentences": 150}
    prepare(parse({"data": data, "subword": {"vocabulary": 300}}), folder)
    return folder


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    folder = tmp_path_factory.mktemp("run")
    torch.manual_seed(1)
    model = Transformer(
        ModelConfig(
            vocabulary=Subword(corpus / "subword.model").size,
            layers_encoder=2,
            layers_decoder=2,
            width=64,
            heads=HEADS,
            feed_forward=128,
            norm="pre",
            tie_embeddings=True,
            dropout=0.0,
            attention_dropout=0.0,
        )
    )
    train(
        model,
        TokenBatches(Encoded.load(corpus / "encoded" / "train.npz"), tokens_per_batch=800, seed=1),
        optimiser=NamedAdam(
            [Group(trainable(model), functools.partial(inverse_sqrt, peak=4e-3, warmup_updates=100))],
            beta1=0.9,
            beta2=0.98,
        ),
        average=Average(updates=UPDATES, points=1, every_updates=1),
        seed=1,
        updates=UPDATES,
        accumulate_batches=1,
        label_smoothing=0.1,
        clip_norm=1.0,
        skipped_updates=0,
        precision="float32",
        journal=Journal(folder / "journal.jsonl"),
        checkpoints=Checkpoints(folder / "checkpoints", identity="learnability", rhythm=Rhythm(UPDATES, 1e6)),
        validate=lambda model: {},
        validate_every_updates=UPDATES,
    )
    return model


def exact(model: Transformer, corpus: Path) -> float:
    """Return the share of test sentences that are translated word for word."""
    subword = Subword(corpus / "subword.model")
    found = translate(
        model,
        subword.encode(read_lines(corpus / "corpus" / "test.source")),
        beam=1,
        length_penalty=0.0,
        max_length=(2.0, 10),
        sentences_per_batch=75,
    )
    references = read_lines(corpus / "corpus" / "test.target")
    return sum(text == wanted for text, wanted in zip(subword.decode(found), references, strict=True)) / len(found)


def test_unseen_sentences_are_translated_word_for_word(trained: Transformer, corpus: Path):
    assert exact(trained, corpus) >= 0.8


@pytest.mark.parametrize("kind", ["encoder", "decoder_cross"])
def test_removing_the_heads_that_the_language_needs_hurts(trained: Transformer, corpus: Path, kind: str):
    kept = trained.config.kept
    gone = [(kind, layer, head) for layer in range(len(kept[kind])) for head in range(HEADS)]
    state, config = remove_heads(trained.state_dict(), trained.config, without(kept, gone, HEADS))
    headless = Transformer(config)
    headless.load_state_dict(state)
    assert exact(headless.eval(), corpus) <= 0.3
