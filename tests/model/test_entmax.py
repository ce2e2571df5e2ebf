from __future__ import annotations

from collections.abc import Callable

import entmax as package
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import headcount.model.entmax as module
from headcount.model.entmax import SHORT, entmax, entmax15, sparsemax

ALPHAS = [1.05, 1.2, 1.5, 1.8, 2.0]

MAPPINGS: dict[str, Callable[[Tensor, Tensor | None], Tensor]] = {
    "entmax15": entmax15,
    "sparsemax": sparsemax,
    "entmax": lambda scores, mask: entmax(scores, per_head(1.3, 1.9).to(scores), mask),
}
"""All mappings for two heads."""

EACH = pytest.mark.parametrize("mapping", MAPPINGS.values(), ids=MAPPINGS)


def per_head(*values: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def random_scores(*, spread: float = 1.0, heads: int = 1, keys: int = 9, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(3, heads, 4, keys, generator=generator, dtype=dtype) * spread


def plain(scores: Tensor, alpha: Tensor, mask: Tensor | None, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return weights and the gradients of scores and α as the paper writes them, τ by bisection; α [head] > 1."""
    delta = (alpha - 1)[:, None, None]
    z = delta * (scores if mask is None else scores.masked_fill(~mask, -1e9))
    low, high = z.amax(-1, keepdim=True) - 1, z.amax(-1, keepdim=True)
    for _ in range(100):
        tau = (low + high) / 2
        enough = (z - tau).clamp_min(0).pow(1 / delta).sum(-1, keepdim=True) >= 1
        low, high = torch.where(enough, tau, low), torch.where(enough, high, tau)
    p = (z - low).clamp_min(0).pow(1 / delta)
    s = torch.where(p > 0, p ** (1 - delta), 0.0)
    of_scores = s * (gradient - (gradient * s).sum(-1, keepdim=True) / s.sum(-1, keepdim=True))
    share, entropy = s / s.sum(-1, keepdim=True), -torch.xlogy(p, p)
    slope = (p - share) / delta**2 + (entropy - share * entropy.sum(-1, keepdim=True)) / delta
    return p, of_scores, (gradient * slope).sum((0, 2, 3))


@pytest.mark.parametrize("keys", [SHORT - 1, SHORT + 1])  # both layouts of a block
@pytest.mark.parametrize("block", [1, 100, 10**9])  # rows of one sentence and head, a few, all at once
@pytest.mark.parametrize("masked", [False, True])
def test_fast_paths_equal_the_formulas_of_the_paper(keys: int, block: int, masked: bool, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    scores, gradient = random_scores(heads=5, keys=keys, spread=1.5), random_scores(heads=5, keys=keys).flip(0)
    mask = (torch.arange(keys) % 3 > 0).expand(3, 1, 4, keys).tril(keys - 4) if masked else None
    alpha = per_head(*ALPHAS)
    for mapping, exact in (
        (lambda z, a: entmax(z, a, mask), alpha),
        (lambda z, a: entmax15(z, mask) + 0 * a.sum(), torch.full_like(alpha, 1.5)),
        (lambda z, a: sparsemax(z, mask) + 0 * a.sum(), torch.full_like(alpha, 2.0)),
    ):
        leaves = scores.clone().requires_grad_(), alpha.clone().requires_grad_()
        weights = mapping(*leaves)
        expected = plain(scores.double(), exact.double(), mask, gradient.double())
        found = weights, *torch.autograd.grad(weights, leaves, gradient)
        learned = 3 if exact is alpha else 2
        for ours, theirs in zip(found[:learned], expected[:learned], strict=True):
            torch.testing.assert_close(ours, theirs.float(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("keys", [1, 2, 9, 70])
def test_equals_the_entmax_package(spread: float, keys: int):
    scores = random_scores(spread=spread, heads=len(ALPHAS), keys=keys)
    alpha = per_head(*ALPHAS)
    exact = package.entmax_bisect(scores.double(), alpha.double()[:, None, None], n_iter=50).float()
    torch.testing.assert_close(entmax(scores, alpha, None), exact, rtol=0, atol=1e-6)
    torch.testing.assert_close(entmax15(scores, None), package.entmax15(scores.double()).float(), rtol=0, atol=1e-6)
    for sparsest in (entmax(scores, torch.full_like(alpha, 2.0), None), sparsemax(scores, None)):
        torch.testing.assert_close(sparsest, package.sparsemax(scores.double()).float(), rtol=0, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(row=st.lists(st.floats(-3, 3, width=32), min_size=1, max_size=24))
def test_sparsemax_of_any_row_is_its_projection_onto_the_simplex(row: list[float]):
    scores = torch.tensor(row, dtype=torch.float64)[None, None, None]
    weights = sparsemax(scores, None)
    torch.testing.assert_close(weights, package.sparsemax(scores), rtol=0, atol=1e-12)
    threshold = (scores - weights)[weights > 0]
    assert (scores[weights == 0] <= threshold.max() + 1e-12).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sparsemax_is_finite_where_every_step_takes_one_key_away(dtype: torch.dtype):
    """Each key lies just below the threshold of those above it, the longest way that Newton's method can have."""
    row = [1.0, 1.0]
    while row[-1] > 0:
        above = sum(row) - 1
        row.append(min(above / len(row), (len(row) + 1) * row[-1] - above) - 1e-6)
    scores = torch.tensor(row[:-1], dtype=dtype)[None, None, None]
    weights = sparsemax(scores, None)
    torch.testing.assert_close(weights, package.sparsemax(scores), rtol=0, atol=1e-7)
    assert (weights > 0).sum() == 2


@settings(deadline=None, max_examples=60)
@given(
    row=st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=24),
    alpha=st.floats(1.0625, 2.0, width=32),
)
def test_any_row_is_a_distribution_that_solves_the_definition(row: list[float], alpha: float):
    scores = torch.tensor(row, dtype=torch.float64)[None, None, None]
    weights = entmax(scores, per_head(alpha, dtype=torch.float64), None)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(), torch.ones((), dtype=torch.float64))
    delta = alpha - 1
    support = weights > 0
    threshold = (delta * scores - weights**delta)[support]  # the same τ for every key of the support
    torch.testing.assert_close(threshold, threshold[:1].expand_as(threshold), rtol=0, atol=1e-6)
    assert (delta * scores[~support] <= threshold.max() + 1e-6).all()


@pytest.mark.parametrize("rows", ["constant", "geometric", "linear", "ties"])
def test_adversarial_rows(rows: str):
    steps = torch.arange(64, dtype=torch.float32)
    row = {"constant": steps * 0, "geometric": -(1.3**steps), "linear": -steps / 16, "ties": (steps % 3) * 0.2}[rows]
    scores, alpha = row.expand(1, len(ALPHAS), 1, 64), per_head(*ALPHAS)
    exact = package.entmax_bisect(scores.double(), alpha.double()[:, None, None], n_iter=60).float()
    torch.testing.assert_close(entmax(scores, alpha, None), exact, rtol=0, atol=1e-6)


def test_softmax_is_the_limit_and_its_gradient_too():
    scores = random_scores(heads=3, spread=2.0).requires_grad_()
    alpha = per_head(1.0, 1 + 1e-7, 1 + 1e-4).requires_grad_()
    weights = entmax(scores, alpha, None)
    torch.testing.assert_close(weights[:, :2], scores[:, :2].softmax(-1), rtol=0, atol=1e-6)
    torch.testing.assert_close(weights, scores.softmax(-1), rtol=0, atol=1e-3)
    gradient = torch.randn_like(weights)
    ours = torch.autograd.grad(weights, (scores, alpha), gradient)
    softmax = scores.softmax(-1)
    (exact,) = torch.autograd.grad(softmax, scores, gradient)
    torch.testing.assert_close(ours[0][:, :2], exact[:, :2], rtol=0, atol=1e-5)
    surprise = -softmax.log()  # closed form of the limit: (-p log² p + p sum p log² p) / 2
    limit = (softmax * (softmax * surprise**2).sum(-1, keepdim=True) - softmax * surprise**2) / 2
    torch.testing.assert_close(ours[1], (gradient * limit).sum((0, 2, 3)), rtol=1e-3, atol=1e-3)


@EACH
def test_offsets_change_nothing(mapping):
    scores = random_scores(heads=2)
    for offset in (-1000.0, 1000.0):
        torch.testing.assert_close(mapping(scores + offset, None), mapping(scores, None), rtol=0, atol=2e-4)
    for offset in (-1024.0, 2.0**18):  # without rounding
        rounded = (scores * 16).round() / 16
        assert torch.equal(mapping(rounded + offset, None), mapping(rounded, None))
    huge = torch.full((1, 2, 1, 5), 1e9)
    torch.testing.assert_close(mapping(huge, None), torch.full_like(huge, 0.2))


@EACH
@pytest.mark.parametrize("hidden", [0.0, 1e30, torch.inf, torch.nan])
def test_masked_keys_do_not_exist(mapping, hidden: float):
    mask = torch.tensor([True, False, True, True, False, True, True, True, False])
    scores = random_scores(heads=2).masked_fill(~mask, hidden).requires_grad_()
    masked, alone = mapping(scores, mask), mapping(scores[..., mask], None)
    torch.testing.assert_close(masked[..., mask], alone, rtol=0, atol=1e-6)
    assert (masked[..., ~mask] == 0).all()
    (gradient,) = torch.autograd.grad(masked.square().sum(), scores)
    assert (gradient[..., ~mask] == 0).all()


@EACH
@pytest.mark.parametrize("keys", [SHORT - 1, SHORT + 1])
def test_rows_without_keys_are_zero_with_zero_gradients(mapping, keys: int):
    scores = random_scores(heads=2, keys=keys).requires_grad_()
    mask = torch.ones(3, 1, 1, keys, dtype=torch.bool)
    mask[1] = False
    weights = mapping(scores, mask)
    assert (weights[1] == 0).all()
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    assert gradient.isfinite().all()
    assert (gradient[1] == 0).all()


def test_rows_without_keys_add_nothing_to_the_gradient_of_alpha():
    scores, alpha = random_scores(heads=2), per_head(1.05, 1.9).requires_grad_()
    mask = torch.ones(3, 1, 1, 9, dtype=torch.bool)
    mask[1] = False
    gradients = [
        torch.autograd.grad(weights.square().sum(), alpha)[0]
        for weights in (entmax(scores, alpha, mask), entmax(scores[[0, 2]], alpha, None))
    ]
    torch.testing.assert_close(*gradients)


@EACH
def test_one_nan_stays_in_its_row(mapping):
    scores = random_scores(heads=2)
    scores[1, 0, 2, 3] = torch.nan
    weights = mapping(scores, None)
    assert weights[1, 0, 2].isnan().all()
    assert weights.isnan().sum() == 9


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_very_negative_scores_in_half_precision(dtype: torch.dtype):
    scores = torch.full((1, 2, 1, 128), -1005.0, dtype=dtype)
    scores[..., 7] = -1000.0
    one_hot = torch.nn.functional.one_hot(torch.tensor(7), 128).float().expand(1, 2, 1, 128)
    scores.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        for weights in (entmax15(scores, None), entmax(scores, per_head(1.5, 2.0), None)):
            assert weights.dtype == torch.float32
            assert torch.equal(weights, one_hot)
            (gradient,) = torch.autograd.grad(weights.sum(), scores)
            assert gradient.dtype == dtype
            assert gradient.isfinite().all()


@pytest.mark.parametrize("alpha", [1.0, 1 + 1e-7, 1.01, 2.0])
def test_gradients_are_bounded_over_the_range_of_alpha(alpha: float):
    scores = random_scores(heads=2, spread=3.0).requires_grad_()
    alphas = per_head(alpha, alpha).requires_grad_()
    gradients = torch.autograd.grad(entmax(scores, alphas, None)[..., 0].sum(), (scores, alphas))
    assert all(gradient.isfinite().all() and gradient.abs().max() < 1e3 for gradient in gradients)


@pytest.mark.parametrize("alpha", [0.9, 10.0])
def test_alpha_outside_its_range_is_refused(alpha: float):
    with pytest.raises(ValueError, match=r"allowed: 1\.0 to 2\.0"):
        entmax(random_scores(heads=2), per_head(1.5, alpha), None)


@pytest.mark.parametrize("shape", [(1,), (9,), (2, 1, 1), ()])
def test_alpha_of_another_shape_is_refused(shape: tuple[int, ...]):
    with pytest.raises(ValueError, match=r"expected \(2,\)"):
        entmax(random_scores(heads=2), torch.full(shape, 1.5), None)


def test_alpha_belongs_to_heads_even_where_heads_equal_keys():
    scores = random_scores(heads=4, keys=4)
    together = entmax(scores, per_head(1.1, 1.4, 1.7, 2.0), None)
    for head, alpha in enumerate((1.1, 1.4, 1.7, 2.0)):
        torch.testing.assert_close(together[:, [head]], entmax(scores[:, [head]], per_head(alpha), None))


def test_gradients_of_scores_and_alpha():
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(2, 3, 2, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    alpha = per_head(1.05, 1.5, 1.9, dtype=torch.float64).requires_grad_()
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    mask[1, ..., 3:] = False
    assert torch.autograd.gradcheck(lambda z: entmax15(z, mask), scores)
    assert torch.autograd.gradcheck(lambda z: sparsemax(z, mask), scores)
    assert torch.autograd.gradcheck(lambda z: entmax(z, alpha.detach(), mask), scores)
    assert torch.autograd.gradcheck(lambda a: entmax(scores.detach(), a, mask), alpha)
    assert torch.autograd.gradcheck(lambda z, a: entmax(z, a, mask), (scores, alpha))


def test_the_gradient_of_alpha_is_precise_in_float32():
    scores = random_scores(heads=6, spread=2.0)
    alpha = per_head(1.001, 1.01, 1.05, 1.3, 1.6, 2.0)
    gradient = random_scores(heads=6).flip(0)
    results = []
    for dtype in (torch.float32, torch.float64):
        leaf = alpha.to(dtype).requires_grad_()
        results.append(torch.autograd.grad(entmax(scores.to(dtype), leaf, None), leaf, gradient.to(dtype))[0].double())
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


@EACH
def test_double_backward_is_refused(mapping):
    scores = random_scores(heads=2).requires_grad_()
    (gradient,) = torch.autograd.grad(mapping(scores, None).square().sum(), scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_double_backward_of_alpha_is_refused():
    alpha = per_head(1.3, 1.9).requires_grad_()
    weights = entmax(random_scores(heads=2), alpha, None)
    (gradient,) = torch.autograd.grad(weights.square().sum(), alpha, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize("keys", [SHORT - 1, SHORT + 1])
@pytest.mark.parametrize("name", MAPPINGS)
def test_a_compiled_graph_is_whole_and_equal(name: str, keys: int):
    """A graph makes a fixed number of steps, so this also compares that with the steps that end early."""
    scores, gradient = random_scores(heads=2, keys=keys, spread=2.0), random_scores(heads=2, keys=keys).flip(0)
    mask = torch.arange(keys) < keys - 2

    def weights(scores: Tensor, alpha: Tensor) -> Tensor:
        return entmax(scores, alpha, mask) if name == "entmax" else MAPPINGS[name](scores, mask) + 0 * alpha.sum()

    results = []
    for mapping in (weights, torch.compile(weights, fullgraph=True, backend="aot_eager")):
        leaves = scores.clone().requires_grad_(), per_head(1.05, 1.9).requires_grad_()
        found = mapping(*leaves)
        results.append((found, *torch.autograd.grad(found, leaves, gradient)))
    for ours, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, ours, rtol=1e-5, atol=2e-6)
