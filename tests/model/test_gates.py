from __future__ import annotations

import pytest
import torch

from headcount.model import gates

TAU, LOW, HIGH = 0.33, -0.1, 1.1
LOG_ALPHAS = torch.tensor([-3.0, -0.5, 0.0, 0.7, 2.0, 2.5])


def draws(log_alpha: torch.Tensor, temperature: float, samples: int = 200_000) -> torch.Tensor:
    uniform = torch.rand(samples, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return gates.sample(log_alpha.double(), uniform, temperature, LOW, HIGH)


@pytest.mark.parametrize("temperature", [TAU, 0.5, 2 / 3])
def test_probabilities_equal_the_shares_of_samples(temperature: float):
    sampled = draws(LOG_ALPHAS, temperature)
    for formula, share in [
        (gates.expected_open, (sampled != 0).double().mean(0)),
        (gates.probability_closed, (sampled == 0).double().mean(0)),
        (gates.probability_one, (sampled == 1).double().mean(0)),
    ]:
        torch.testing.assert_close(formula(LOG_ALPHAS.double(), temperature, LOW, HIGH), share, rtol=0, atol=5e-3)


@pytest.mark.parametrize(("log_alpha", "closed", "one"), [(0.0, 0.23, 0.23), (2.0, 0.04, 0.69), (-3.0, 0.86, 0.01)])
def test_the_numbers_of_voita2019_figure_6(log_alpha: float, closed: float, one: float):
    location = torch.tensor(log_alpha)
    assert round(gates.probability_closed(location, 0.5, LOW, HIGH).item(), 2) == closed
    assert round(gates.probability_one(location, 0.5, LOW, HIGH).item(), 2) == one


def test_binary_gates_take_the_more_probable_end():
    more_one = gates.probability_one(LOG_ALPHAS, TAU, LOW, HIGH) > gates.probability_closed(LOG_ALPHAS, TAU, LOW, HIGH)
    assert torch.equal(gates.binary(LOG_ALPHAS), more_one.float())


def test_soft_gates_reach_both_ends():
    ends = torch.tensor([-2.4, 0.0, 2.4])  # ln 11 = 2.398
    torch.testing.assert_close(gates.soft(ends, LOW, HIGH), torch.tensor([0.0, 0.5, 1.0]))


def test_the_rule_at_test_time_and_its_threshold():
    values = torch.tensor([-5.0, -2.399, -2.397, -0.001, 0.0, 0.001, 2.397, 2.399, 5.0])
    for rule, expected in (("binary", gates.binary(values)), ("soft", gates.soft(values, LOW, HIGH))):
        gate = gates.HardConcreteGate(
            9, initial_log_alpha=0.0, temperature=TAU, low=LOW, high=HIGH, at_test=rule
        ).eval()
        with torch.no_grad():
            gate.log_alpha.copy_(values)
        assert torch.equal(gate(), expected)
        assert torch.equal(gate.factors(), expected)
        assert torch.equal(gate.factors() > 0, values > gate.threshold)
        gate.train()
        torch.manual_seed(1)
        sampled = gate()
        torch.manual_seed(1)
        uniform = torch.rand_like(values).clamp(gates.MARGIN, 1 - gates.MARGIN)
        assert torch.equal(sampled, gates.sample(values, uniform, TAU, LOW, HIGH))  # training knows no rule


def test_a_gate_has_settled_when_one_end_has_nearly_all_probability():
    ends = 0.33 * torch.tensor(11.0).log() + torch.tensor(19.0).log()  # P(1) = 0.95; the two ends are symmetric
    gate = gates.HardConcreteGate(5, initial_log_alpha=0.0, temperature=TAU, low=LOW, high=HIGH)
    with torch.no_grad():
        gate.log_alpha.copy_(torch.tensor([-1.01, -0.99, 0.0, 0.99, 1.01]) * ends)
    assert gate.settled().tolist() == [True, False, False, False, True]


def test_gates_start_open():
    gate = gates.HardConcreteGate(5, initial_log_alpha=2.5, temperature=TAU, low=LOW, high=HIGH)
    assert (gate.expected_open() > 0.95).all()
    gate.eval()
    assert torch.equal(gate(), torch.ones(5))


def test_expected_sampled_and_binary_counts_agree():
    gate = gates.HardConcreteGate(6, initial_log_alpha=0.0, temperature=TAU, low=LOW, high=HIGH)
    with torch.no_grad():
        gate.log_alpha.copy_(LOG_ALPHAS)
    torch.manual_seed(1)
    sampled = torch.stack([(gate() != 0).float().sum() for _ in range(1000)]).mean()
    torch.testing.assert_close(sampled, gate.expected_open().sum(), rtol=0, atol=0.15)
    assert gate.eval()().sum() == 3


def test_one_sample_for_each_call():
    gate = gates.HardConcreteGate(4, initial_log_alpha=0.0, temperature=TAU, low=LOW, high=HIGH)
    torch.manual_seed(1)
    first = gate()
    assert first.shape == (4,)
    assert not torch.equal(gate(), first)
    torch.manual_seed(1)
    assert torch.equal(gate(), first)


def test_gradient_of_the_sampled_gate():
    log_alpha = torch.tensor([-0.3, 0.1, 0.4], dtype=torch.float64, requires_grad=True)
    uniform = torch.tensor([0.5, 0.45, 0.52], dtype=torch.float64)  # inside (0, 1), where the gate is smooth
    sampled = gates.sample(log_alpha, uniform, TAU, LOW, HIGH)
    assert ((sampled > 0) & (sampled < 1)).all()
    assert torch.autograd.gradcheck(lambda value: gates.sample(value, uniform, TAU, LOW, HIGH), log_alpha)
    assert torch.autograd.gradcheck(lambda value: gates.expected_open(value, TAU, LOW, HIGH), log_alpha)


def test_fixed_gate_masks_by_original_ids():
    gate = gates.FixedGate.keeping([5, 2], existing=[1, 2, 5])
    assert gate().tolist() == [0.0, 1.0, 1.0]
    assert gate.state_dict() == {}
