from __future__ import annotations

import math

import pytest
import torch

from headcount.pruning.control import Control

SETTLED, UNDECIDED = torch.tensor([True, True]), torch.tensor([True, False])


def wish(heads: int, penalty: float = 0.01, rate: float = 0.03) -> Control:
    return Control(penalty, target_heads=heads, gate_learning_rate=rate, settled_updates=0)


def constant(penalty: float, settled_updates: int = 0) -> Control:
    return Control(penalty, target_heads=0, gate_learning_rate=0.03, settled_updates=settled_updates)


def test_without_a_wish_the_penalty_is_constant():
    control = constant(0.3)
    before = {name: value.clone() for name, value in control.state_dict().items()}
    assert [float(control.advance(torch.randn(5))) for _ in range(3)] == [0.3] * 3
    assert all(torch.equal(value, before[name]) for name, value in control.state_dict().items())


def test_a_penalty_of_zero_is_possible():
    assert float(constant(0.0).advance(torch.zeros(3))) == 0.0


def test_the_formula():
    control = wish(1, penalty=0.02, rate=0.06)
    log_penalty, lagging = math.log(0.02), None
    for distance in ([2.5, 2.5, 2.5, 2.5], [1.0, 0.2, -0.1, 2.0], [0.3, -0.3, -1.0, 2.0], [-0.3, -0.9, -1.0, -0.1]):
        count = sum(1 / (1 + math.exp(-value / 0.15)) for value in distance)
        lagging = count if lagging is None else lagging
        excess = count + 2 * (count - lagging) - 1
        lagging += 0.06 / 0.5 * (count - lagging)
        log_penalty += 0.06 * (excess / 4 + (0.4 * min(excess, 1.0) if excess > 0 else max(excess, -1.0)))
        expected = math.exp(log_penalty) * max(-1.0, min(1.0, (2 + excess) / 4))
        assert float(control.advance(torch.tensor(distance))) == pytest.approx(expected, rel=1e-6)
    assert expected < 0  # the last line had too few


def test_the_first_penalty_is_the_one_asked_for_but_for_one_step():
    first = float(wish(6, penalty=0.01, rate=0.03).advance(torch.full((24,), 2.5)))
    assert 0.01 < first < 0.01 * math.exp(0.03 * 1.4)


@pytest.mark.parametrize(("open_gates", "sign"), [(8, 1), (6, 1), (5, 1), (4, 1), (3, 1), (2, 0), (1, -1), (0, -1)])
def test_too_many_are_closed_and_too_few_are_reopened(open_gates: int, sign: int):
    distance = torch.tensor([9.0] * open_gates + [-9.0] * (8 - open_gates))
    control = wish(4)
    penalty = float(control.advance(distance))
    assert penalty == pytest.approx(0.0, abs=1e-9) if sign == 0 else penalty * sign > 0
    assert abs(penalty) <= float(control.multiplier.exp()) * (1 + 1e-9)


def test_gates_on_their_way_count_before_they_arrive():
    still, moving = wish(3), wish(3)
    now = torch.tensor([2.0, 2.0, 2.0, 0.5])
    for step in range(5):
        still.advance(now)
        moving.advance(now + torch.tensor([0.0, 0.0, 0.0, 0.6 * (4 - step)]))
    assert float(moving.penalty) < float(still.penalty)


@pytest.mark.parametrize("rate", [0.03, 0.1])
def test_gates_that_differ_in_worth_are_counted_out_at_any_rate(rate: float):
    """A plant that can be reasoned about: gates move by `rate` towards the side that their worth and λ decide."""
    worth = torch.logspace(-3, 0, 24, dtype=torch.float64)
    for heads in (20, 12, 6, 1):
        control, log_alpha = wish(heads, rate=rate), torch.full((24,), 2.5, dtype=torch.float64)
        for _ in range(round(14 / rate)):
            penalty = control.advance(log_alpha)
            log_alpha = (log_alpha + rate * torch.tanh((worth - penalty) / (0.3 * worth))).clamp(-5, 5)
        assert abs(int((log_alpha > 0).sum()) - heads) <= 1


def test_the_multiplier_stays_in_bounds():
    control = wish(1)
    for distance in (torch.full((9,), 9.0), torch.full((9,), -9.0)):
        for _ in range(1500):
            control.advance(distance)
        assert 1e-6 <= float(control.multiplier.exp()) * (1 + 1e-9) <= 1.1e2


def test_a_streak_of_settled_updates_ends_the_training():
    control = constant(0.1, settled_updates=3)
    seen = [UNDECIDED, SETTLED, SETTLED, UNDECIDED, SETTLED, SETTLED, SETTLED]
    answers = [control.done(update, settled) for update, settled in enumerate(seen, start=1)]
    assert answers == [False] * 6 + [True]
    assert control.done(7, SETTLED)  # asked again


def test_gates_that_are_settled_from_the_start_need_the_streak_too():
    control = constant(0.1, settled_updates=2)
    assert [control.done(update, SETTLED) for update in range(4)] == [False, False, True, True]


def test_zero_never_ends_the_training():
    control = constant(0.1)
    assert not any(control.done(update, SETTLED) for update in range(100))


def test_the_state_goes_on_exactly():
    whole, second = (Control(0.01, target_heads=2, gate_learning_rate=0.1, settled_updates=9) for _ in range(2))
    walk = [torch.randn(6, generator=torch.Generator().manual_seed(number)) for number in range(8)]
    for update, distance in enumerate(walk):
        if update == 4:
            second.load_state_dict(whole.state_dict())
        for control in (whole, second) if update >= 4 else (whole,):
            control.advance(distance)
            control.done(update, UNDECIDED if update < 6 else SETTLED)
    assert {name: float(value) for name, value in whole.state_dict().items()} == {
        name: float(value) for name, value in second.state_dict().items()
    }
