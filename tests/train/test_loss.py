from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_training import corpus, make_model

from headcount.data.batching import Batch, make_batch
from headcount.train import loss as loss_module
from headcount.train.loss import batch_loss, label_smoothed_loss
from headcount.vocabulary import PAD

CPU = torch.device("cpu")


def _inputs(
    tokens: int, width: int = 5, pieces: int = 11, dtype: torch.dtype = torch.float64
) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(tokens)
    hidden = torch.randn(tokens, width, generator=generator, dtype=dtype, requires_grad=True)
    weight = torch.randn(pieces, width, generator=generator, dtype=dtype, requires_grad=True)
    return hidden, weight, torch.randint(0, pieces, (tokens,), generator=generator)


@settings(deadline=None, max_examples=25)
@given(tokens=st.integers(1, 20), rows=st.integers(1, 25), smoothing=st.sampled_from([0.0, 0.1, 0.5]))
def test_equals_cross_entropy_for_every_chunk_size(tokens: int, rows: int, smoothing: float):
    hidden, weight, targets = _inputs(tokens)
    expected = F.cross_entropy(hidden @ weight.T, targets, label_smoothing=smoothing, reduction="sum")
    nll = F.cross_entropy(hidden @ weight.T, targets, reduction="sum")
    before = loss_module.CHUNK_ROWS
    loss_module.CHUNK_ROWS = {"cpu": rows}
    try:
        loss_sum, nll_sum = label_smoothed_loss(hidden, weight, targets, smoothing=smoothing)
    finally:
        loss_module.CHUNK_ROWS = before
    torch.testing.assert_close(loss_sum, expected)
    torch.testing.assert_close(nll_sum, nll.detach())
    wanted = torch.autograd.grad(3 * expected, (hidden, weight))
    torch.testing.assert_close(torch.autograd.grad(3 * loss_sum, (hidden, weight)), wanted)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradcheck(smoothing: float):
    hidden, weight, targets = _inputs(6)
    assert torch.autograd.gradcheck(
        lambda h, w: label_smoothed_loss(h, w, targets, smoothing=smoothing)[0], (hidden, weight)
    )


def test_without_smoothing_both_results_are_one():
    loss_sum, nll_sum = label_smoothed_loss(*_inputs(9), smoothing=0.0)
    assert loss_sum.item() == nll_sum.item()


def test_frozen_parts_get_no_gradient_and_cost_no_work():
    hidden, weight, targets = _inputs(6)
    loss_sum, _ = label_smoothed_loss(hidden, weight.detach(), targets, smoothing=0.1)
    loss_sum.backward()
    assert hidden.grad is not None
    with torch.no_grad():
        assert not label_smoothed_loss(hidden, weight, targets, smoothing=0.1)[0].requires_grad


def test_a_second_derivative_is_refused():
    hidden, weight, targets = _inputs(3)
    loss_sum, _ = label_smoothed_loss(hidden, weight, targets, smoothing=0.1)
    (slope,) = torch.autograd.grad(loss_sum.square(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_large_scores_do_not_overflow():
    hidden = torch.full((2, 4), 1e4, requires_grad=True)
    weight = torch.eye(4)[[0, 1, 2]] * 10
    weight[0] *= -1
    loss_sum, _ = label_smoothed_loss(hidden, weight, torch.tensor([1, 0]), smoothing=0.1)
    loss_sum.backward()
    assert torch.isfinite(loss_sum)
    assert hidden.grad is not None
    assert torch.isfinite(hidden.grad).all()


def test_bfloat16_states_keep_a_float32_loss():
    hidden, weight, targets = _inputs(40, dtype=torch.float32)
    exact, _ = label_smoothed_loss(hidden, weight, targets, smoothing=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, _ = label_smoothed_loss(hidden, weight, targets, smoothing=0.1)
        halved, _ = label_smoothed_loss(hidden.bfloat16(), weight, targets, smoothing=0.1)
    assert rough.dtype == halved.dtype == torch.float32
    torch.testing.assert_close(rough, exact, rtol=2e-2, atol=0.0)
    (halved + rough).backward()
    assert hidden.grad is not None
    assert weight.grad is not None
    assert hidden.grad.dtype == weight.grad.dtype == torch.float32


def _widened(batch: Batch, columns: int) -> Batch:
    def pad(ids: torch.Tensor) -> torch.Tensor:
        return F.pad(ids, (0, columns), value=PAD)

    return Batch(pad(batch.source), pad(batch.target_input), pad(batch.target_output), batch.sentences)


def test_padding_columns_change_nothing():
    model = make_model(dropout=0.0)
    batch = make_batch(corpus(), range(8))
    results = []
    for same in (batch, _widened(batch, 30)):
        model.zero_grad()
        loss_sum, nll_sum = batch_loss(model, same, smoothing=0.1, device=CPU)
        loss_sum.backward()
        results.append((loss_sum.detach(), nll_sum, {name: part.grad for name, part in model.named_parameters()}))
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-5)


def test_a_batch_of_padding_contributes_nothing():
    model = make_model(dropout=0.0)
    nothing = torch.full((3, 4), PAD)
    batch = Batch(nothing, nothing, nothing, make_batch(corpus(), range(3)).sentences)
    loss_sum, nll_sum = batch_loss(model, batch, smoothing=0.1, device=CPU)
    loss_sum.backward()
    assert loss_sum.item() == nll_sum.item() == 0.0
    assert all(part.grad is None or not part.grad.any() for part in model.parameters())
