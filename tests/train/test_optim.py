from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import nn

from headcount.train.optim import Group, NamedAdam, constant, inverse_sqrt, trainable


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3))


def _adam(model: nn.Module, rate: float = 0.01) -> NamedAdam:
    return NamedAdam([Group(trainable(model), partial(constant, rate=rate))], beta1=0.9, beta2=0.98)


def _set_gradients(model: nn.Module, update: int, factor: float = 1.0) -> None:
    generator = torch.Generator().manual_seed(update)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator) * factor


def _steps(model: nn.Module, optimiser: NamedAdam, updates: range, clip_norm: float = 1.0) -> None:
    for update in updates:
        _set_gradients(model, update)
        optimiser.step(update, clip_norm=clip_norm, loss=torch.tensor(1.0))


def _same(left: nn.Module, right: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left.parameters(), right.parameters(), strict=True))


def test_inverse_sqrt():
    rate = partial(inverse_sqrt, peak=0.4, warmup_updates=100)
    assert rate(1) == pytest.approx(0.004)
    assert rate(50) == pytest.approx(0.2)
    assert rate(100) == 0.4
    assert rate(400) == pytest.approx(0.2)
    assert rate(10_000) == pytest.approx(0.04)
    assert max(range(1, 300), key=rate) == 100


def test_constant():
    assert constant(1, rate=0.3) == constant(10**6, rate=0.3) == 0.3


@pytest.mark.parametrize("clip_norm", [0.0, 0.5, 1e6])
def test_equals_clipping_and_plain_adam(clip_norm: float):
    ours, theirs = _model(), _model()
    named = _adam(ours)
    plain = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=NamedAdam.EPSILON, foreach=False)
    for update in range(1, 8):
        _set_gradients(ours, update)
        _set_gradients(theirs, update)
        norm, made = named.step(update, clip_norm=clip_norm, loss=torch.tensor(2.0))
        expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), clip_norm or math.inf)
        plain.step()
        torch.testing.assert_close(norm, expected)
        assert made
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("loss", "factor"), [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (1.0, math.inf)])
def test_a_step_that_is_not_finite_leaves_no_trace(loss: float, factor: float):
    disturbed, spared = _model(), _model()
    first, second = _adam(disturbed), _adam(spared)
    _steps(disturbed, first, range(1, 4))
    _steps(spared, second, range(1, 4))
    _set_gradients(disturbed, 99, factor)
    _, made = first.step(4, clip_norm=1.0, loss=torch.tensor(loss))
    assert not made
    assert first.steps == 3
    _steps(disturbed, first, range(5, 8))
    _steps(spared, second, range(5, 8))
    assert _same(disturbed, spared)


def test_groups_have_rates_of_their_own():
    model = _model()
    named = trainable(model)
    slow = {name: part for name, part in named.items() if name.startswith("0")}
    fast = {name: part for name, part in named.items() if name.startswith("1")}
    before = {name: part.detach().clone() for name, part in named.items()}
    groups = [Group(slow, partial(constant, rate=0.001)), Group(fast, partial(constant, rate=0.1))]
    _steps(model, NamedAdam(groups, beta1=0.9, beta2=0.98), range(1, 2))
    for name, part in named.items():  # Adam's first step has the length of the rate
        torch.testing.assert_close(
            (part - before[name]).abs().mean().item(), 0.001 if name in slow else 0.1, rtol=1e-3, atol=0
        )


def test_frozen_parameters_are_not_trained():
    model = _model()
    model[0].requires_grad_(False)
    assert sorted(trainable(model)) == ["1.bias", "1.weight"]


def test_moments_go_round_by_name_exactly():
    full, first, second = _model(), _model(), _model()
    _steps(full, _adam(full), range(1, 9))
    optimiser = _adam(first)
    _steps(first, optimiser, range(1, 5))
    moments, steps = optimiser.moments(), optimiser.steps
    assert steps == 4
    assert list(moments["exp_avg"]) == [name for name, _ in first.named_parameters()]
    second.load_state_dict(first.state_dict())
    shuffled = dict(reversed(trainable(second).items()))
    resumed = NamedAdam([Group(shuffled, partial(constant, rate=0.01))], beta1=0.9, beta2=0.98)
    resumed.load_moments({name: dict(of.items()) for name, of in moments.items()}, steps=steps)
    _steps(second, resumed, range(5, 9))
    assert _same(full, second)


def test_loaded_moments_are_copies():
    model = _model()
    optimiser = _adam(model)
    _steps(model, optimiser, range(1, 3))
    moments = {kind: {name: value.clone() for name, value in of.items()} for kind, of in optimiser.moments().items()}
    expected = moments["exp_avg"]["0.bias"].clone()
    other = _adam(model)
    other.load_moments(moments, steps=2)
    _steps(model, other, range(3, 5))
    assert torch.equal(moments["exp_avg"]["0.bias"], expected)


def test_foreign_moments_are_refused():
    model = _model()
    with pytest.raises(ValueError, match="no such parameter"):
        _adam(model).load_moments({"exp_avg": {"2.bias": torch.zeros(3)}, "exp_avg_sq": {}}, steps=1)
    with pytest.raises(ValueError, match=r"shape \[4\], expected: \[3\]"):
        _adam(model).load_moments({"exp_avg": {"1.bias": torch.zeros(4)}, "exp_avg_sq": {}}, steps=1)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_layer_without_heads_is_no_obstacle():
    model = nn.ModuleDict({"empty": nn.Linear(4, 0), "full": nn.Linear(4, 2)})
    optimiser = _adam(model)
    _steps(model, optimiser, range(1, 3))
    other = _adam(model)
    other.load_moments(optimiser.moments(), steps=optimiser.steps)
    assert other.steps == 2
