"""The α that several heads share, of an attention or of the model: one name, one step, whatever heads are left."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from headcount.heads import ATTENTION_TYPES, Heads
from headcount.model.surgery import expand_heads, remove_heads
from headcount.model.transformer import Transformer
from headcount.model.weights import load, save
from headcount.observe.alpha import AlphaHook
from headcount.pruning.lottery import rewind
from headcount.train.optim import Group, NamedAdam, constant, trainable

LAYER = dict.fromkeys(ATTENTION_TYPES, "entmax_alpha_layer")
MODEL = dict.fromkeys(ATTENTION_TYPES, "entmax_alpha_model")
both = pytest.mark.parametrize("normalisers", [LAYER, MODEL], ids=["layer", "model"])
KEPT: Heads = {"encoder": [[], [1, 3]], "decoder_self": [[], [0], [2, 3]], "decoder_cross": [[0], [], []]}
NOTHING: Heads = {kind: [[] for _ in rows] for kind, rows in KEPT.items()}


def names_of_a(model: Transformer) -> list[str]:
    return [name for name, _ in model.named_parameters() if name.endswith((".a", "attention_a"))]


def adam(model: Transformer) -> NamedAdam:
    return NamedAdam([Group(trainable(model), partial(constant, rate=0.1))], beta1=0.9, beta2=0.98)


def step(model: Transformer, optimiser: NamedAdam, sentences: Any, update: int) -> None:
    optimiser.zero_grad()
    loss = model(*sentences).logsumexp(-1).sum()
    loss.backward()
    optimiser.step(update, clip_norm=0.0, loss=loss.detach())


def test_a_layer_has_one_a_for_each_attention_and_a_model_has_one(build):
    model = build(normalisers=LAYER)
    assert len(names_of_a(model)) == 8
    assert all(model.state_dict()[name].shape == () for name in names_of_a(model))
    model = build(normalisers=MODEL)
    assert names_of_a(model) == ["attention_a"]
    assert [name for name in model.state_dict() if name.endswith("a")] == ["attention_a"]
    assert len({id(attention.normaliser.a) for attention in model.attentions().values()}) == 1
    only_decoder = build(normalisers={"decoder_self": "entmax_alpha_model", "encoder": "entmax_alpha"})
    assert sorted(names_of_a(only_decoder)) == [
        "attention_a",
        *names_of_a(build(normalisers={"encoder": "entmax_alpha"})),
    ]


@both
def test_one_step_moves_a_by_one_learning_rate(build, sentences, normalisers):
    model = build(normalisers=normalisers)
    optimiser = adam(model)
    before = {name: model.state_dict()[name].clone() for name in names_of_a(model)}
    step(model, optimiser, sentences, 1)
    for name, value in before.items():
        moved = (model.state_dict()[name] - value).abs()
        torch.testing.assert_close(moved, torch.tensor(0.1), rtol=1e-3, atol=0)  # Adam's first step, made once
    for attention in model.attentions().values():
        assert attention.normaliser.alpha.unique().numel() == 1


@both
def test_copies_devices_and_precision_keep_it_shared(build, sentences, normalisers):
    model = build(normalisers=normalisers)
    twin = copy.deepcopy(model).double().float()
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            if name in names_of_a(twin):
                parameter.fill_(5.0)
    alphas = [attention.normaliser.alpha for attention in twin.attentions().values()]
    assert all((alpha > 1.99).all() for alpha in alphas)
    assert all((attention.normaliser.alpha < 1.99).all() for attention in model.attentions().values())
    assert not torch.equal(twin(*sentences), model(*sentences))


@both
@pytest.mark.parametrize("kept", [KEPT, NOTHING], ids=["some", "nothing"])
def test_removal_and_files_keep_it(build, sentences, tmp_path: Path, normalisers, kept: Heads):
    model = build(normalisers=normalisers)
    state, config = remove_heads(model.state_dict(), model.config, kept)
    smaller = Transformer(config).eval()
    smaller.load_state_dict(state, strict=True)
    for name in names_of_a(model):
        assert torch.equal(smaller.state_dict()[name], model.state_dict()[name])
    save(smaller, tmp_path)
    loaded = load(tmp_path, torch.device("cpu"))
    torch.testing.assert_close(loaded.state_dict(), smaller.state_dict(), rtol=0, atol=0)
    assert torch.equal(loaded(*sentences), smaller(*sentences))
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        assert set(file.keys()) == set(model.state_dict())
    larger, config = expand_heads(loaded.state_dict(), loaded.config)
    Transformer(config).load_state_dict(larger, strict=True)


@both
def test_it_is_trained_while_one_of_its_heads_is_left(build, sentences, normalisers):
    for kept in (KEPT, NOTHING):
        model = build(normalisers=normalisers, kept=kept)
        model(*sentences).logsumexp(-1).sum().backward()
        named = {name: parameter for name, parameter in model.named_parameters() if name in names_of_a(model)}
        assert all((parameter.grad is not None) == parameter.requires_grad for parameter in named.values())
        of_layers = [bool(ids) for rows in kept.values() for ids in rows]
        trained = sum(parameter.requires_grad for parameter in named.values())
        assert trained == (sum(of_layers) if normalisers is LAYER else any(of_layers))


@both
def test_rewinding_keeps_it_and_its_moments(build, sentences, normalisers):
    model = build(normalisers=normalisers)
    optimiser = adam(model)
    for update in (1, 2):
        step(model, optimiser, sentences, update)
    state: Any = {
        "update": 2,
        "position": 2,
        "tokens": 9,
        "seconds": 1.0,
        "model": dict(model.state_dict()),
        "moments": optimiser.moments(),
        "steps": optimiser.steps,
        "average": None,
        "meter": None,
    }
    rewound, start = rewind(state, model.config, KEPT)
    fresh = adam(rewound)
    fresh.load_moments(start["moments"], steps=start["steps"])
    for name in set(names_of_a(rewound)) & trainable(rewound).keys():
        assert torch.equal(rewound.state_dict()[name], model.state_dict()[name])
        assert torch.equal(fresh.moments()["exp_avg"][name], optimiser.moments()["exp_avg"][name])
        assert fresh.moments()["exp_avg"][name] != 0
    before = {name: rewound.state_dict()[name].clone() for name in names_of_a(rewound)}
    step(rewound, fresh, sentences, 3)
    for name, value in before.items():
        assert torch.equal(rewound.state_dict()[name], value) == (name not in trainable(rewound))


@both
def test_the_journal_has_it_once_for_each_head(build, normalisers):
    model = build(normalisers={**normalisers, "encoder": "entmax_fixed"}, kept={"decoder_cross": [[1, 2], [], [0]]})
    hook = AlphaHook()
    hook.start(model, 0)
    reported = hook.after_step(1)["alpha"]
    assert {kind: [len(row) for row in rows] for kind, rows in reported.items()} == {
        "decoder_self": [4, 4, 4],
        "decoder_cross": [2, 0, 1],
    }
    values = {value for rows in reported.values() for row in rows for value in row}
    assert len(values) == (1 if normalisers is MODEL else 5)


@both
def test_gradients_reach_it_through_the_whole_model(build, sentences, normalisers):
    """The derivative along a equals a difference quotient of the loss, summed over all that share it."""
    model = build(normalisers=normalisers, layers_encoder=1, layers_decoder=1).double()
    named = dict(model.named_parameters())

    def loss() -> torch.Tensor:
        return model(*sentences).logsumexp(-1).mean()

    gradients = torch.autograd.grad(loss(), [named[name] for name in names_of_a(model)])
    for name, gradient in zip(names_of_a(model), gradients, strict=True):
        with torch.no_grad():
            named[name] += 1e-4
            above = loss()
            named[name] -= 2e-4
            quotient = (above - loss()) / 2e-4
            named[name] += 1e-4
        torch.testing.assert_close(gradient, quotient, rtol=1e-3, atol=1e-8)
