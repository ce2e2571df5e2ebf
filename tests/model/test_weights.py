from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES
from headcount.model.gates import FixedGate
from headcount.model.weights import load, save
from headcount.registry import names

CPU = torch.device("cpu")
VARIANTS = [
    {},
    {"tie_embeddings": False, "norm": "post"},
    *({"normalisers": dict.fromkeys(ATTENTION_TYPES, name)} for name in names("model.normalise")),
    {
        "normalisers": {"encoder": "entmax_fixed", "decoder_cross": "entmax_alpha"},
        "alpha": {"fixed": 1.7, "lowest": 1.4},
    },
    {"kept": {"encoder": [[1], []], "decoder_cross": [[], [0, 3], [2]]}},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_round_trip(build, sentences, tmp_path: Path, changes):
    model = build(**changes)
    save(model.train(), tmp_path / "run")
    loaded = load(tmp_path / "run", CPU)
    assert loaded.config == model.config
    assert not loaded.training
    torch.testing.assert_close(loaded.state_dict(), model.state_dict(), rtol=0, atol=0)
    assert torch.equal(loaded(*sentences), model.eval()(*sentences))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["model.json", "model.safetensors"]


def test_saving_twice_gives_the_same_bytes(build, tmp_path: Path):
    for name in ("a", "b"):
        save(build(), tmp_path / name)
    for file in ("model.json", "model.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_wrappers_leave_no_trace(build, tmp_path: Path):
    class Wrapper(nn.Module):
        def __init__(self, name: str, inner: nn.Module) -> None:
            super().__init__()
            self.add_module(name, inner)

    model = build()
    save(Wrapper("module", Wrapper("_orig_mod", model)), tmp_path)
    torch.testing.assert_close(load(tmp_path, CPU).state_dict(), model.state_dict(), rtol=0, atol=0)


def test_gates_are_not_lost_silently(build, tmp_path: Path):
    model = build()
    model.attentions()["decoder_self", 1].gate = FixedGate([1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="decoder_self layer 1"):
        save(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_weights_without_their_config_are_refused(build, tmp_path: Path):
    save(build(), tmp_path)
    (tmp_path / "model.json").unlink()
    with pytest.raises(UserError, match=r"model\.json: missing"):
        load(tmp_path, CPU)


def test_a_foreign_or_edited_config_is_refused(build, tmp_path: Path):
    save(build(), tmp_path)
    path = tmp_path / "model.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, "norm": "post"}))  # the same shapes, another function
    with pytest.raises(UserError, match=r"was not written with model\.json"):
        load(tmp_path, CPU)
    path.write_text("{")
    with pytest.raises(UserError, match="not valid JSON"):
        load(tmp_path, CPU)


def test_missing_and_damaged_weights_are_refused(build, tmp_path: Path):
    save(build(), tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match="damaged"):
        load(tmp_path, CPU)
    path.unlink()
    with pytest.raises(UserError, match=r"model\.safetensors: missing"):
        load(tmp_path, CPU)
