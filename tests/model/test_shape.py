from __future__ import annotations

import json
from typing import Any

import pytest

from headcount.errors import UserError
from headcount.heads import full
from headcount.model.shape import ModelConfig

SIZES: dict[str, Any] = {
    "vocabulary": 20,
    "layers_encoder": 2,
    "layers_decoder": 3,
    "width": 12,
    "heads": 4,
    "feed_forward": 8,
    "norm": "pre",
    "tie_embeddings": True,
    "dropout": 0.1,
    "attention_dropout": 0.0,
}


def test_defaults_are_all_heads_and_softmax():
    config = ModelConfig(**SIZES)
    assert config.kept == full(2, 3, 4)
    assert set(config.normalisers.values()) == {"softmax"}
    assert config.head_width == 3


def test_json_round_trip():
    config = ModelConfig(
        **SIZES, normalisers={"encoder": "entmax15"}, kept={"encoder": [[3, 1, 1], []], "decoder_cross": [[0], [], [2]]}
    )
    assert config.kept["encoder"] == [[1, 3], []]
    assert config.kept["decoder_self"] == [[0, 1, 2, 3]] * 3
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 5}, "width 12 is not a multiple of heads 5"),
        ({"norm": "middle"}, "allowed: pre, post"),
        ({"kept": {"encoder": [[0]]}}, "1 layers are listed, the model has 2"),
        ({"kept": {"encoder": [[5], [0]]}}, "encoder layer 0: no heads .5.; allowed: 0 to 3"),
        ({"kept": {"decoder": [[0], [0], [0]]}}, "allowed: encoder, decoder_self, decoder_cross"),
        ({"normalisers": {"encodr": "softmax"}}, "did you mean 'encoder'"),
        ({"alpha": {"lowst": 1.01}}, "alpha.lowst is unknown; did you mean 'lowest'"),
        ({"alpha": {"sd": -1.0}}, "alpha.sd -1.0 is not allowed; allowed: 0 to inf"),
        ({"alpha": {"mean": float("nan")}}, "alpha.mean nan is not allowed"),
        ({"alpha": {"lowest": 0.5}}, "alpha.lowest 0.5 is not allowed; allowed: 1 to 2"),
        ({"alpha": {"fixed": 4.5}}, "alpha.fixed 4.5 is not allowed; allowed: 1 to 4"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: dict[str, Any], message: str):
    with pytest.raises(UserError, match=message):
        ModelConfig(**SIZES | change)


def test_alpha_options_are_completed_and_files_without_them_are_read():
    config = ModelConfig(**SIZES, alpha={"lowest": 1.01})
    assert config.alpha == {**ModelConfig(**SIZES).alpha, "lowest": 1.01}
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    values = ModelConfig(**SIZES).to_dict()
    del values["alpha"]
    assert ModelConfig.from_dict(values) == ModelConfig(**SIZES)


def test_unknown_and_missing_keys_are_refused():
    values = ModelConfig(**SIZES).to_dict()
    with pytest.raises(UserError, match="'wdth' is unknown; did you mean 'width'"):
        ModelConfig.from_dict({**values, "wdth": 3})
    del values["width"]
    with pytest.raises(UserError, match="width missing"):
        ModelConfig.from_dict(values)
