from __future__ import annotations

import pytest
import torch

from headcount.model.dropout import add_dropout, dropout, noise, relu_dropout

PROBABILITY = 0.1


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_the_noise_has_the_right_values_and_share(probability: float):
    torch.manual_seed(1)
    factors = noise(torch.empty(399, 501), probability)  # not a multiple of four
    dropped = factors == 0
    assert abs(dropped.float().mean().item() - probability) < 0.005
    torch.testing.assert_close(factors[~dropped], torch.full_like(factors[~dropped], 1 / (1 - probability)))
    pairs = (dropped[:, 1:] & dropped[:, :-1]).float().mean().item()  # neighbours share a word of random bits
    assert abs(pairs - probability**2) < 0.005


def test_the_noise_depends_on_the_seed_alone():
    values = torch.empty(7, 5)
    torch.manual_seed(1)
    first = noise(values, PROBABILITY)
    assert not torch.equal(noise(values, PROBABILITY), first)
    torch.manual_seed(1)
    assert torch.equal(noise(values, PROBABILITY), first)


@pytest.mark.parametrize("training", [False, True])
def test_nothing_is_dropped_outside_training_or_at_probability_zero(training: bool):
    values = torch.randn(4, 6)
    probability = 0.0 if training else 0.5
    assert torch.equal(dropout(values, probability, training), values)
    assert torch.equal(relu_dropout(values, probability, training), values.relu())
    assert torch.equal(add_dropout(values, values, probability, training), 2 * values)


def test_the_fused_forms_equal_the_plain_ones_and_so_do_their_gradients():
    values = torch.randn(8, 16, dtype=torch.float64, requires_grad=True)
    states = torch.randn(8, 16, dtype=torch.float64, requires_grad=True)

    def gradients(output: torch.Tensor) -> list[torch.Tensor]:
        return [output, *torch.autograd.grad(output.square().sum(), (values, states), allow_unused=True)]

    results = []
    for function in (
        lambda: relu_dropout(values, PROBABILITY, True),
        lambda: dropout(values.relu(), PROBABILITY, True),
        lambda: add_dropout(states, values, PROBABILITY, True),
        lambda: states + dropout(values, PROBABILITY, True),
    ):
        torch.manual_seed(1)
        results.append(gradients(function()))
    torch.testing.assert_close(results[0][:2], results[1][:2])
    torch.testing.assert_close(results[2], results[3])


def test_a_second_derivative_is_refused():
    values = torch.randn(8, 16, requires_grad=True)
    (gradient,) = torch.autograd.grad(relu_dropout(values, 0.1, True).square().sum(), values, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_autocast():
    inner = torch.nn.Linear(4, 8)
    states = torch.randn(3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = relu_dropout(inner(states), PROBABILITY, True)
        total = add_dropout(torch.randn(3, 8), inner(states), PROBABILITY, True)
    assert hidden.dtype == torch.bfloat16
    assert total.dtype == torch.float32
    hidden.float().sum().backward()
