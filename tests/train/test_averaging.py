from __future__ import annotations

import torch
from torch import nn

from headcount.train.averaging import Average

CPU = torch.device("cpu")


def _model(value: float) -> nn.Module:
    model = nn.BatchNorm1d(3)  # parameters, buffers and an integer buffer
    with torch.no_grad():
        model.weight.fill_(value)
        model.running_mean.fill_(value)
    return model


def _walk(average: Average, model: nn.Module, updates: range) -> None:
    for update in updates:
        with torch.no_grad():
            model.weight.fill_(update)
        average.add(model, update)


def test_mean_of_the_last_points():
    average, model = Average(updates=50, points=3, every_updates=10), _model(0.0)
    _walk(average, model, range(1, 51))
    average.apply(model)
    assert torch.equal(model.weight, torch.full((3,), 40.0))


def test_the_last_update_is_a_point_wherever_it_falls():
    average, model = Average(updates=47, points=2, every_updates=10), _model(0.0)
    _walk(average, model, range(1, 48))
    average.apply(model)
    assert torch.equal(model.weight, torch.full((3,), 42.0))


def test_fewer_points_than_asked_for():
    average, model = Average(updates=15, points=5, every_updates=10), _model(0.0)
    _walk(average, model, range(1, 16))
    average.apply(model)
    assert torch.equal(model.weight, torch.full((3,), 10.0))


def test_one_point_leaves_the_final_weights():
    average, model = Average(updates=15, points=1, every_updates=10), _model(0.0)
    _walk(average, model, range(1, 16))
    average.apply(model)
    assert torch.equal(model.weight, torch.full((3,), 15.0))


def test_equal_weights_average_to_themselves():
    average, model = Average(updates=5, points=5, every_updates=1), _model(1 / 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for update in range(1, 6):
        average.add(model, update)
    average.apply(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_does_not_share_memory_with_the_model():
    model = nn.Linear(2, 2).double()
    average = Average(updates=2, points=2, every_updates=1)
    average.add(model, 1)
    with torch.no_grad():
        model.weight.add_(2)
    expected = model.weight.detach() - 1
    average.add(model, 2)
    average.apply(model)
    torch.testing.assert_close(model.weight.detach(), expected)


def test_going_on_is_exact():
    whole, model = Average(updates=50, points=4, every_updates=7), _model(0.0)
    _walk(whole, model, range(1, 51))
    whole.apply(model)
    expected = model.weight.detach().clone()

    first, second = (Average(updates=50, points=4, every_updates=7) for _ in range(2))
    model = _model(0.0)
    _walk(first, model, range(1, 40))
    second.load(first.state(), CPU)
    _walk(second, model, range(40, 51))
    second.apply(model)
    assert torch.equal(model.weight, expected)
