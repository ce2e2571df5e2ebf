from __future__ import annotations

import pytest
import torch

from headcount.model.normalise import entmax15, entmax_alpha, softmax
from headcount.registry import load, names

NORMALISERS = names("model.normalise")


def test_the_three_normalisers_are_found():
    assert set(NORMALISERS) == {"softmax", "entmax15", "entmax_alpha"}


@pytest.mark.parametrize("name", NORMALISERS)
def test_rows_sum_to_one_and_masked_keys_get_nothing(name: str):
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 4, 6, requires_grad=True)
    mask = torch.rand(2, 1, 4, 6) > 0.4
    mask[0, 0, 1] = False
    weights = load("model.normalise", name).Normaliser(3)(scores, mask)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float().expand(2, 3, 4))
    assert (weights[~mask.expand_as(weights)] == 0).all()
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    unmasked = load("model.normalise", name).Normaliser(3)(scores, None)
    torch.testing.assert_close(unmasked.sum(-1), torch.ones(2, 3, 4))


@pytest.mark.parametrize("name", NORMALISERS)
def test_float32_inside_in_half_precision(name: str):
    scores = torch.randn(2, 3, 4, 50).bfloat16()
    weights = load("model.normalise", name).Normaliser(3)(scores, None)
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 4), rtol=0, atol=1e-5)


def test_the_three_agree_on_where_the_weight_lies():
    scores = torch.tensor([[[[0.0, 1.0, 4.0]]]])
    dense, sparse = softmax.Normaliser(1)(scores, None), entmax15.Normaliser(1)(scores, None)
    assert (dense > 0).all()
    assert (sparse[..., 0] == 0).all()
    assert sparse.argmax() == dense.argmax()


def test_alpha_stays_in_its_range():
    normaliser = entmax_alpha.Normaliser(5)
    with torch.no_grad():
        normaliser.a.copy_(torch.tensor([-1e9, -20.0, 0.0, 20.0, 1e9]))
    assert normaliser.alpha[[0, 2, 4]].tolist() == [1.0, 1.5, 2.0]
    scores = torch.randn(2, 5, 3, 4)
    weights = normaliser(scores, None)
    torch.testing.assert_close(weights[:, 0], scores[:, 0].softmax(-1), rtol=0, atol=1e-6)
    weights[..., 0].sum().backward()
    assert normaliser.a.grad is not None
    assert normaliser.a.grad.isfinite().all()


def test_alpha_starts_at_random_around_one_and_a_half():
    torch.manual_seed(1)
    alpha = entmax_alpha.Normaliser(10_000).alpha
    assert abs(alpha.mean().item() - 1.5) < 0.01
    assert abs(alpha.std().item() - 0.208) < 0.01


def test_alpha_can_be_learned():
    torch.manual_seed(1)
    normaliser = entmax_alpha.Normaliser(2)
    optimiser = torch.optim.Adam(normaliser.parameters(), lr=0.1)
    scores = torch.randn(8, 2, 4, 6)
    wanted = torch.stack([scores[:, 0].softmax(-1), torch.nn.functional.one_hot(scores[:, 1].argmax(-1), 6)], dim=1)
    for _ in range(60):
        optimiser.zero_grad()
        (normaliser(scores, None) - wanted).square().sum().backward()
        optimiser.step()
    assert normaliser.alpha[0] < 1.1
    assert normaliser.alpha[1] > 1.9
