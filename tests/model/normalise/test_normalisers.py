"""What every file of `model/normalise` has to hold, whatever its α."""

from __future__ import annotations

import entmax as package
import pytest
import torch
from torch import Tensor, nn

from headcount.model.shape import AlphaOptions
from headcount.registry import load, names

NORMALISERS = names("model.normalise")
LEARNED = ("entmax_alpha", "entmax_alpha_layer", "entmax_alpha_model", "entmax_bisect")
FIXED = {"softmax": 1.0, "entmax15": 1.5, "sparsemax": 2.0, "entmax_fixed": 1.3}
OPTIONS = AlphaOptions(mean=0.5, sd=1.0, lowest=1.0, fixed=1.3)
HEADS = 3


def normaliser(name: str) -> nn.Module:
    torch.manual_seed(1)
    module: nn.Module = load("model.normalise", name).Normaliser(HEADS, OPTIONS)
    return module


def reference(name: str, scores: Tensor, alpha: Tensor) -> Tensor:
    """Compute the weights by the entmax package, without a mask."""
    exact = {"softmax": torch.softmax, "entmax15": package.entmax15, "sparsemax": package.sparsemax}
    if name in exact:
        return exact[name](scores, dim=-1)
    return package.entmax_bisect(scores, alpha.to(scores.dtype)[:, None, None], n_iter=60)


def test_all_normalisers_are_known_here():
    assert set(NORMALISERS) == {*LEARNED, *FIXED}


@pytest.mark.parametrize("name", NORMALISERS)
def test_rows_sum_to_one_and_masked_keys_get_exactly_nothing(name: str):
    module = normaliser(name)
    scores = torch.randn(2, HEADS, 4, 6, requires_grad=True)
    mask = torch.rand(2, 1, 4, 6) > 0.4
    mask[0, 0, 1] = False
    weights = module(scores, mask)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float().expand(2, HEADS, 4))
    assert (weights[~mask.expand_as(weights)] == 0).all()
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert (scores.grad[~mask.expand_as(weights)] == 0).all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())
    torch.testing.assert_close(module(scores, None).sum(-1), torch.ones(2, HEADS, 4))


@pytest.mark.parametrize("name", NORMALISERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_and_gradients_are_those_of_the_entmax_package(name: str, dtype: torch.dtype):
    module = normaliser(name)
    scores, gradient = torch.randn(2, 4, HEADS, 5, 11, dtype=dtype).unbind(0)
    mask = torch.arange(11) < 8
    alpha = module.alpha.detach()
    tolerance = {"rtol": 0, "atol": 2e-6 if dtype == torch.float32 else 1e-7}  # settings of α are float32
    edge = {"rtol": 0, "atol": 4e-6 if dtype == torch.float32 else 1e-7}  # of the support, where p^(2-α) is steep
    for keep in (None, mask):
        leaf = scores.clone().requires_grad_()
        weights = module(leaf, keep)
        (ours,) = torch.autograd.grad(weights, leaf, gradient)
        alone = (scores if keep is None else scores[..., :8]).double().requires_grad_()
        exact = reference(name, alone, alpha)
        (theirs,) = torch.autograd.grad(exact, alone, gradient[..., : alone.shape[-1]].double())
        assert weights.dtype == dtype
        torch.testing.assert_close(weights[..., : alone.shape[-1]], exact.to(dtype), **tolerance)
        torch.testing.assert_close(ours[..., : alone.shape[-1]], theirs.to(dtype), **edge)


@pytest.mark.parametrize("name", NORMALISERS)
def test_gradients_of_scores_and_parameters(name: str):
    module = normaliser(name).double()
    scores = torch.randn(2, HEADS, 2, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    mask[1, ..., 3:] = False
    parameters = dict(module.named_parameters())
    assert set(parameters) == ({"a"} if name in LEARNED else set())

    def weights(scores: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(module, dict(zip(parameters, values, strict=True)), (scores, mask))

    assert torch.autograd.gradcheck(weights, (scores, *parameters.values()))


@pytest.mark.parametrize("name", [name for name in NORMALISERS if name != "softmax"])
def test_a_second_derivative_is_refused(name: str):
    scores = torch.randn(2, HEADS, 4, 6, requires_grad=True)
    (gradient,) = torch.autograd.grad(normaliser(name)(scores, None).square().sum(), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize("name", NORMALISERS)
def test_offsets_change_nothing(name: str):
    module = normaliser(name)
    scores = (torch.randn(2, HEADS, 4, 6) * 16).round() / 16  # so that the sums are exact
    for offset in (-1024.0, 2.0**18):
        torch.testing.assert_close(module(scores + offset, None), module(scores, None), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NORMALISERS)
def test_float32_inside_in_half_precision(name: str):
    scores = torch.randn(2, HEADS, 4, 50).bfloat16()
    weights = normaliser(name)(scores, None)
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, HEADS, 4), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NORMALISERS)
def test_every_head_has_an_alpha(name: str):
    module = normaliser(name)
    assert module.alpha.shape == (HEADS,)
    assert ((module.alpha >= 1) & (module.alpha <= 2)).all()
    if name in FIXED:
        torch.testing.assert_close(module.alpha, torch.full((HEADS,), FIXED[name]))
        assert not list(module.parameters())
        assert not module.state_dict()


def test_softmax_is_dense_and_the_others_are_not():
    scores = torch.tensor([0.0, 1.0, 12.0]).expand(1, HEADS, 1, 3)
    for name in NORMALISERS:
        assert (normaliser(name)(scores, None) > 0).all() == (name == "softmax"), name
        assert (normaliser(name)(scores, None).argmax(-1) == 2).all()


def test_the_fixed_alpha_reaches_from_softmax_to_sparsemax():
    scores = torch.randn(2, HEADS, 4, 6)
    for alpha, name in ((1.0, "softmax"), (1.5, "entmax15"), (2.0, "sparsemax")):
        fixed = load("model.normalise", "entmax_fixed").Normaliser(HEADS, AlphaOptions(fixed=alpha))
        torch.testing.assert_close(fixed(scores, None), normaliser(name)(scores, None), rtol=0, atol=1e-6)


@pytest.mark.parametrize("alpha", [2.25, 4.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_beyond_sparsemax_the_fixed_alpha_is_served_by_the_package(alpha: float, dtype: torch.dtype):
    fixed = load("model.normalise", "entmax_fixed").Normaliser(HEADS, AlphaOptions(fixed=alpha))
    torch.manual_seed(1)
    scores = torch.randn(2, HEADS, 4, 6, dtype=dtype, requires_grad=True)
    mask = torch.rand(2, 1, 4, 6) > 0.4
    mask[0, 0, 1] = False
    weights = fixed(scores, mask)
    assert weights.dtype == dtype
    assert (weights[~mask.expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).to(dtype).expand(2, HEADS, 4))
    for row, of_row in zip(scores.detach().flatten(0, 2), weights.detach().flatten(0, 2), strict=True):
        threshold = ((alpha - 1) * row - of_row ** (alpha - 1))[of_row > 0]  # the same τ for every key of the support
        torch.testing.assert_close(threshold, threshold[:1].expand_as(threshold), rtol=0, atol=1e-5)
    weights.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.dtype == dtype
    assert scores.grad.isfinite().all()


def test_bisection_and_newton_agree_and_only_bisection_is_clamped():
    newton, bisection = normaliser("entmax_alpha"), normaliser("entmax_bisect")
    assert torch.equal(newton.a, bisection.a)
    scores = torch.randn(2, HEADS, 4, 6)
    results = []
    for module in (newton, bisection):
        weights = module(scores, None)
        weights.square().sum().backward()
        results.append((weights.detach(), module.a.grad))
    torch.testing.assert_close(*results, rtol=1e-4, atol=2e-6)
    with torch.no_grad():
        newton.a.fill_(-20.0)
        bisection.a.fill_(-20.0)
    assert (newton.alpha < 1.001).all()
    torch.testing.assert_close(bisection.alpha, torch.full((HEADS,), 1.01))
