from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from headcount.errors import UserError
from headcount.evaluate.size import measure
from headcount.heads import full
from headcount.model import weights
from headcount.model.transformer import ModelConfig, Transformer

SIZES: dict[str, Any] = {
    "vocabulary": 11,
    "layers_encoder": 2,
    "layers_decoder": 1,
    "width": 8,
    "heads": 4,
    "feed_forward": 16,
    "norm": "pre",
    "dropout": 0.0,
    "attention_dropout": 0.0,
}


def saved(folder: Path, **changes: Any) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(ModelConfig(**{**SIZES, "tie_embeddings": True, **changes}))
    weights.save(model, folder)
    return model


@pytest.mark.parametrize("tied", [True, False])
def test_sizes_are_those_of_the_model(tmp_path: Path, tied: bool) -> None:
    model = saved(tmp_path, tie_embeddings=tied)
    attention = sum(p.numel() for module in model.attentions().values() for p in module.parameters())
    size = measure(tmp_path)
    assert size["parameters"] == sum(p.numel() for p in model.parameters())
    assert size["parameters_attention"] == attention
    assert size["heads"] == {"encoder": 8, "decoder_self": 4, "decoder_cross": 4}
    assert size["file_bytes"] == (tmp_path / "model.safetensors").stat().st_size


def test_each_removed_head_saves_its_four_projections(tmp_path: Path) -> None:
    saved(tmp_path / "dense")
    kept = full(2, 1, 4) | {"encoder": [[0, 3], []]}
    saved(tmp_path / "removed", kept=kept)
    dense, removed = measure(tmp_path / "dense"), measure(tmp_path / "removed")
    width, head_width, gone = 8, 2, 6
    assert dense["parameters"] - removed["parameters"] == gone * (4 * width * head_width + 3 * head_width)
    assert removed["heads"] == {"encoder": 2, "decoder_self": 4, "decoder_cross": 4}


def test_incomplete_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"model\.json: no such file"):
        measure(tmp_path)
    saved(tmp_path)
    weights_file = tmp_path / "model.safetensors"
    weights_file.write_bytes(weights_file.read_bytes()[:40])
    with pytest.raises(UserError, match="not a readable model"):
        measure(tmp_path)
    weights_file.unlink()
    with pytest.raises(UserError, match="no such file"):
        measure(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps({"vocabulary": 3}))
    with pytest.raises(UserError, match="missing"):
        measure(tmp_path)
