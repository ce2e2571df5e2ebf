import pytest
import torch
from torch import nn

from headcount.observe.relevance.rules import AlphaBeta, Epsilon, Gradient

RULES = {"epsilon": Epsilon(1e-9), "alpha_beta": AlphaBeta()}


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def propagate(outputs, relevance, *inputs):
    return torch.autograd.grad(outputs, inputs, relevance)


OPERATIONS = {
    "linear": lambda rule, x: rule.linear(x, numbers(7, 6, seed=1).detach()),
    "attention": lambda rule, x: rule.linear(x, numbers(2, 3, 9, 6, seed=1).detach().softmax(-1)),
    "norm": lambda rule, x: rule.norm(x, nn.LayerNorm(6)),
    "relu": lambda rule, x: rule.relu(x),
    "scale": lambda rule, x: rule.scale(x, torch.tensor([1.0, 0.0, 0.5])[:, None, None]),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_relevance_is_conserved(rule, operation):
    inputs = numbers(2, 3, 4, 6)
    outputs = OPERATIONS[operation](rule, inputs)
    relevance = outputs.detach().abs()
    (of_inputs,) = propagate(outputs, relevance, inputs)
    torch.testing.assert_close(of_inputs.sum(), relevance.sum(), rtol=1e-4, atol=0)


def test_relevance_of_a_sum_of_tensors_is_conserved(rule):
    first, second = numbers(3, 5), numbers(3, 5, seed=1)
    parts = propagate(rule.add(first, second), torch.ones(3, 5), first, second)
    torch.testing.assert_close(sum(parts), torch.ones(3, 5), rtol=1e-4, atol=0)


@pytest.mark.parametrize("which", ["linear", "norm"])
def test_a_bias_keeps_its_share(rule, which):
    inputs, weight, bias = numbers(2, 4, 6), numbers(6, 6, seed=1), numbers(6, seed=2)
    norm = nn.LayerNorm(6)
    norm.bias = nn.Parameter(bias.detach())
    outputs = rule.norm(inputs, norm) if which == "norm" else rule.linear(inputs, weight, bias)
    relevance = outputs.detach().abs()
    of_inputs, of_bias = propagate(outputs, relevance, inputs, norm.bias if which == "norm" else bias)
    torch.testing.assert_close(of_inputs.sum() + of_bias.sum(), relevance.sum(), rtol=1e-4, atol=0)
    assert of_bias.abs().min() > 0


def test_epsilon_rule_in_closed_form():
    x, weight, bias = torch.tensor([[2.0, -1.0]]), torch.tensor([[1.0, 3.0], [0.5, 0.5]]), torch.tensor([4.0, -1.5])
    x.requires_grad_()
    outputs = Epsilon(0.5).linear(x, weight, bias)
    assert outputs.tolist() == [[3.0, -1.0]]
    (of_inputs,) = propagate(outputs, torch.tensor([[15.0, 5.0]]), x)
    # contributions 2, -3, 4 and 1, -0.5, -1.5: 15 (2, -3) / (3 + 4.5) + 5 (1, -0.5) / (-1 - 1.5)
    torch.testing.assert_close(of_inputs, torch.tensor([[4.0 - 2.0, -6.0 + 1.0]]))


def test_no_contribution_gets_more_than_epsilon_allows():
    x = torch.tensor([[1.0, -1.0]], requires_grad=True)
    (of_inputs,) = propagate(Epsilon(1e-3).linear(x, torch.ones(1, 2)), torch.ones(1, 1), x)
    torch.testing.assert_close(of_inputs, torch.tensor([[500.0, -500.0]]))  # (1, -1) / (0 + 0.001 * 2)


def test_alpha_beta_rule_in_closed_form():
    x, weight = torch.tensor([[1.0, -2.0, 3.0]], requires_grad=True), torch.tensor([[2.0, 1.0, 2.0], [1.0, -1.0, 1.0]])
    (of_inputs,) = propagate(AlphaBeta().linear(x, weight), torch.tensor([[8.0, 6.0]]), x)
    # first unit: contributions 2, -2, 6, half of 8 to each sign; second unit: 1, 2, 3, all of 6 to one sign
    torch.testing.assert_close(of_inputs, torch.tensor([[1.0 + 1.0, 4.0 + 2.0, 3.0 + 3.0]]))


def test_alpha_beta_rule_equals_its_formula_term_by_term():
    x, weight, bias = numbers(5, 12), numbers(4, 12, seed=1), numbers(4, seed=2)  # every unit has both signs
    relevance = numbers(5, 4, seed=3)
    z = torch.cat([weight * x[:, None], bias.expand(5, 4)[..., None]], dim=2)  # [row, out, in and bias]
    positive, negative = z.relu(), (-z).relu()
    share = positive / positive.sum(-1, keepdim=True) / 2 + negative / negative.sum(-1, keepdim=True) / 2
    given = share * relevance[..., None]
    of_inputs, of_bias = propagate(AlphaBeta().linear(x, weight, bias), relevance, x, bias)
    torch.testing.assert_close(of_inputs, given[..., :-1].sum(1), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(of_bias, given[..., -1].sum(0), rtol=1e-4, atol=1e-5)


def test_alpha_beta_relevance_keeps_the_sign():
    x = numbers(5, 6)
    rule = AlphaBeta()
    outputs = rule.norm(rule.add(x, rule.linear(x, numbers(6, 6, seed=1), numbers(6, seed=2))), nn.LayerNorm(6))
    (of_inputs,) = propagate(outputs, torch.rand(5, 6), x)
    assert (of_inputs >= 0).all()


def piecewise_linear(rule, inputs):
    hidden = rule.relu(rule.linear(inputs, numbers(8, 6, seed=1), numbers(8, seed=2)))
    hidden = rule.add(inputs, rule.linear(hidden, numbers(6, 8, seed=3), numbers(6, seed=4)))
    return hidden, rule.linear(hidden, numbers(1, 6, seed=5))


def test_epsilon_rule_is_gradient_times_input_of_a_piecewise_linear_network():
    inputs = numbers(9, 6)
    hidden, outputs = piecewise_linear(Epsilon(1e-9), inputs)
    relevances = propagate(outputs, outputs.detach(), inputs, hidden)
    hidden, outputs = piecewise_linear(Gradient(), inputs)
    gradients = propagate(outputs, torch.ones_like(outputs), inputs, hidden)
    for relevance, gradient, values in zip(relevances, gradients, (inputs, hidden), strict=True):
        torch.testing.assert_close(relevance, gradient * values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("small", [0.0, 1e-30, -1e-30])
def test_relevance_is_finite_where_contributions_cancel(rule, small):
    x = torch.tensor([[1.0, -1.0], [0.0, 0.0]], requires_grad=True)
    outputs = rule.linear(x, torch.ones(3, 2), torch.full((3,), small))
    added = rule.add(outputs, -outputs)
    normed = rule.norm(added, nn.LayerNorm(3))
    (of_inputs,) = propagate(normed, torch.ones(2, 3), x)
    assert of_inputs.isfinite().all()


def test_forward_values_are_those_of_ordinary_operations(rule):
    x, norm = numbers(2, 4, 6), nn.LayerNorm(6, eps=1e-6)
    norm.weight, norm.bias = nn.Parameter(numbers(6, seed=3).detach()), nn.Parameter(numbers(6, seed=4).detach())
    weight, bias, ordinary = numbers(7, 6, seed=1), numbers(7, seed=2), Gradient()
    for ours, theirs in (
        (rule.linear(x, weight, bias), ordinary.linear(x, weight, bias)),
        (rule.norm(x, norm), ordinary.norm(x, norm)),
        (rule.relu(x), ordinary.relu(x)),
        (rule.add(x, x), ordinary.add(x, x)),
        (rule.scale(x, torch.tensor(3.0)), ordinary.scale(x, torch.tensor(3.0))),
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_relevance_of_a_unit_that_is_zero_is_zero(rule):
    x = torch.tensor([[0.0, 2.0, -1.0]], requires_grad=True)
    (of_inputs,) = propagate(rule.linear(x, numbers(4, 3), numbers(4, seed=1)), torch.ones(1, 4), x)
    assert of_inputs[0, 0] == 0.0
    assert of_inputs[0, 1:].abs().min() > 0
