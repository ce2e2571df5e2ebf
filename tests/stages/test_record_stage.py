"""From a prepared corpus with gold trees and a model whose heads are set by hand to their names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from headcount.data.subword import Subword
from headcount.data.trees import read_trees
from headcount.errors import UserError
from headcount.model import weights
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.observation import Observation
from headcount.settings import Roles
from headcount.stages.record import record
from headcount.stages.roles import roles

WIDTH = 32
SHARPNESS = 30.0


def hand_set(vocabulary: int, kept=None) -> Transformer:
    """Build a model whose encoder head 0 looks one piece back and head 1 one piece ahead, by the positions alone.

    After the norm nothing but the sinusoids is left of a state, and the scalar product of two sinusoids is largest at
    equal places; the queries are turned by one place.
    """
    torch.manual_seed(1)
    config = ModelConfig(
        vocabulary=vocabulary,
        layers_encoder=1,
        layers_decoder=1,
        width=WIDTH,
        heads=2,
        feed_forward=8,
        norm="post",
        tie_embeddings=True,
        dropout=0.0,
        attention_dropout=0.0,
        kept=kept or {},
    )
    model = Transformer(config)
    attention = model.attentions()["encoder", 0]
    half = WIDTH // 2
    rates = torch.exp(torch.arange(half) * (-np.log(10_000) / half))
    used = range(half // 2)  # the fastest turning half of the channels, for each head
    with torch.no_grad():
        model.embedding["shared"].zero_()
        attention.query.weight.zero_()
        attention.key.weight.zero_()
        for index, head in enumerate(attention.kept):
            shift = (-1, 1)[head]
            for row, channel in enumerate(used):
                sine, cosine = index * half + 2 * row, index * half + 2 * row + 1
                turn = rates[channel] * shift
                attention.key.weight[sine, channel] = 1.0
                attention.key.weight[cosine, half + channel] = 1.0
                attention.query.weight[sine, channel] = SHARPNESS * turn.cos()
                attention.query.weight[sine, half + channel] = SHARPNESS * turn.sin()
                attention.query.weight[cosine, half + channel] = SHARPNESS * turn.cos()
                attention.query.weight[cosine, channel] = -SHARPNESS * turn.sin()
    return model


@pytest.fixture(scope="module")
def pieces(data: Path) -> int:
    return Subword(data / "subword.model").size


@pytest.fixture
def recorded(data: Path, tmp_path: Path):
    """Return a function from a model to its observation, recorded over the dev sentences."""

    def run(
        model: Transformer, *, trees: Path | None = data / "corpus" / "dev.conllu", **changes: object
    ) -> Observation:
        weights.save(model, tmp_path)
        record(
            data / "encoded" / "dev.npz",
            tmp_path / "observation.npz",
            model=tmp_path,
            text=data / "corpus" / "dev.source",
            train=data / "encoded" / "train.npz",
            subword=data / "subword.model",
            trees=trees,
            settings=Roles(**{"rare_frequent_tokens": 100, **changes}),
        )
        return Observation.load(tmp_path / "observation.npz")

    return run


def shares(observation: Observation, labels: str = "gold") -> dict[str, list[float]]:
    """Return the share of hits of the encoder's heads by role."""
    links, encoder = observation.links, observation.attention == "encoder"
    with np.errstate(invalid="ignore"):
        value = links.hits[encoder] / links.cases[encoder]
    return {str(role): value[:, link].tolist() for link, role in enumerate(links.role) if links.labels[link] == labels}


def test_hand_set_heads_are_named_for_what_they_do(pieces: int, tmp_path: Path, recorded):
    observation = recorded(hand_set(pieces), relations=("nsubj", "obj", "amod", "det"), maps=2)
    gold = shares(observation)
    assert gold["-1"] == [1.0, 0.0]
    assert gold["+1"] == [0.0, 1.0]
    assert "dobj:to_head" in gold
    assert max(max(values) for role, values in shares(observation, "shuffled").items() if "1" in role) < 0.5
    roles(tmp_path / "observation.npz", tmp_path / "roles.json", settings=Roles())
    named = json.loads((tmp_path / "roles.json").read_text())["heads"]
    of = {(head["attention"], head["head"]): head["roles"] for head in named}
    assert of["encoder", 0][0] == "-1"
    assert of["encoder", 1][0] == "+1"
    # an adjective stands right before its noun: the best fixed offset does as well, so that is no syntactic head
    links = observation.links
    assert links.baseline[0, list(links.role).index("amod:to_head")] == 1.0
    assert not any("amod" in role for head in named for role in head["roles"])


def test_positional_weights_are_means_and_maps_are_kept(pieces: int, recorded):
    observation = recorded(hand_set(pieces), maps=2)
    measure = list(observation.links.measure)
    encoder = observation.attention == "encoder"
    back = observation.links.weight[encoder, measure.index("offset_-1")]
    assert back[0] > 0.9
    assert back[1] < 0.1
    maps = observation.maps
    assert maps.encoder.shape[:2] == (2, 2)
    assert maps.source[0, 0].startswith("▁")
    length = int((maps.source[0] != "").sum())
    assert maps.source[0, length - 1] == "</s>"
    largest = np.nanargmax(maps.encoder[0, 0, 1:length, :length], axis=1)
    assert largest.tolist() == list(range(length - 1))


def test_a_model_with_a_removed_head_keeps_the_other_ones_counts(pieces: int, recorded):
    whole = recorded(hand_set(pieces))
    kept = {"encoder": [[1]], "decoder_self": [[]], "decoder_cross": [[0]]}
    part = recorded(hand_set(pieces, kept))
    assert list(part.attention) == ["encoder", "decoder_cross"]
    assert part.head[0] == 1
    np.testing.assert_array_equal(part.links.hits[0], whole.links.hits[1])
    np.testing.assert_array_equal(part.links.cases[0], whole.links.cases[1])
    assert len(part.maps.encoder) == 1


def test_without_trees_the_syntactic_part_is_missing_and_the_rest_the_same(
    data: Path, pieces: int, recorded, tmp_path: Path
):
    (tmp_path / "none.conllu").write_text("")
    whole, bare, empty = (
        recorded(hand_set(pieces), **trees) for trees in ({}, {"trees": None}, {"trees": tmp_path / "none.conllu"})
    )
    syntactic = whole.links.kind == "syntactic"
    for other in (bare, empty):
        assert not other.links.cases[:, syntactic].any()
        np.testing.assert_array_equal(other.links.hits[:, ~syntactic], whole.links.hits[:, ~syntactic])
    counts = dict(zip(bare.links.coverage, bare.links.covered, strict=True))
    assert counts["sentences without a tree"] == counts["sentences"] == 30


def test_trees_of_some_sentences_count_those(data: Path, pieces: int, recorded, tmp_path: Path):
    blocks = (data / "corpus" / "dev.conllu").read_text().split("\n\n")
    (tmp_path / "some.conllu").write_text("\n\n".join(blocks[20:10:-1]) + "\n\n")
    observation = recorded(hand_set(pieces), trees=tmp_path / "some.conllu")
    counts = dict(zip(observation.links.coverage, observation.links.covered, strict=True))
    assert counts["sentences without a tree"] == 20
    assert counts["words of trees"] == sum(map(len, read_trees(tmp_path / "some.conllu")))


def test_a_text_of_other_sentences_is_refused(data: Path, pieces: int, tmp_path: Path):
    weights.save(hand_set(pieces), tmp_path)
    with pytest.raises(UserError, match="are not those of the 30 encoded pairs"):
        record(
            data / "encoded" / "dev.npz",
            tmp_path / "observation.npz",
            model=tmp_path,
            text=data / "corpus" / "test.source",
            train=data / "encoded" / "train.npz",
            subword=data / "subword.model",
            trees=None,
            settings=Roles(),
        )
    assert not (tmp_path / "observation.npz").exists()
