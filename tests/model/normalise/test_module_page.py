"""The page for users of other toolkits keeps its word: its example is run as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headcount.model.normalise import entmax_alpha, entmax_alpha_model
from headcount.model.shape import AlphaOptions
from headcount.registry import names

PAGE = (Path(__file__).parents[3] / "docs" / "entmax-module.md").read_text(encoding="utf-8")


def test_the_example_runs_as_printed():
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line]) <= 10
    found: dict[str, Any] = {}
    exec(example, found)
    weights, mask, gradient = found["weights"], found["mask"], found["normaliser"].a.grad
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 8, 20))
    assert (weights[~mask.expand_as(weights)] == 0).all()
    assert found["output"].shape == (4, 8, 20, 32)
    assert gradient.shape == (8,)
    assert (gradient != 0).all()


def test_the_page_lists_every_mapping():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)) == set(names("model.normalise"))


def test_padding_of_the_other_convention_and_autocast():
    normaliser = entmax_alpha.Normaliser(2, AlphaOptions())
    key_padding_mask = torch.tensor([[False, False, True], [True, True, True]])
    scores = torch.randn(2, 2, 4, 3, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        weights = normaliser(scores, ~key_padding_mask[:, None, None, :])
    assert weights.dtype == torch.float32
    assert (weights[0, ..., 2] == 0).all()
    assert (weights[1] == 0).all()
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(2, 4))
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert (scores.grad[1] == 0).all()


def test_modules_of_a_foreign_owner_share_one_alpha():
    owner = nn.Module()
    owner.layers = nn.ModuleList(entmax_alpha_model.Normaliser(heads, AlphaOptions()) for heads in (2, 4))
    for layer in owner.layers:
        layer.share(owner)
    assert [name for name, _ in owner.named_parameters()] == ["attention_a"]
    assert torch.equal(owner.layers[0].alpha[:1], owner.layers[1].alpha[:1])
    assert [len(layer.alpha) for layer in owner.layers] == [2, 4]
