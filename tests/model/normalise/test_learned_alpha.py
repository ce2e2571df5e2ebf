"""entmax_alpha, entmax_alpha_layer and entmax_alpha_model by themselves; as parts of a model: test_shared_alpha."""

from __future__ import annotations

import pytest
import torch

from headcount.model.normalise import entmax_alpha, entmax_alpha_layer, entmax_alpha_model
from headcount.model.shape import AlphaOptions

LEARNED = pytest.mark.parametrize("plugin", [entmax_alpha, entmax_alpha_layer, entmax_alpha_model])
SHARED = pytest.mark.parametrize("plugin", [entmax_alpha_layer, entmax_alpha_model])
FREE = AlphaOptions(mean=0.0, sd=1.0, lowest=1.0)


def test_alpha_stays_in_its_range():
    normaliser = entmax_alpha.Normaliser(5, FREE)
    with torch.no_grad():
        normaliser.a.copy_(torch.tensor([-1e9, -20.0, 0.0, 20.0, 1e9]))
    assert normaliser.alpha[[0, 2, 4]].tolist() == [1.0, 1.5, 2.0]
    scores = torch.randn(2, 5, 3, 4)
    weights = normaliser(scores, None)
    torch.testing.assert_close(weights[:, 0], scores[:, 0].softmax(-1), rtol=0, atol=1e-6)
    weights[..., 0].sum().backward()
    assert normaliser.a.grad is not None
    assert normaliser.a.grad.isfinite().all()


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (-2.0, 0.5), (1.0, 0.0)])
def test_a_starts_at_the_normal_distribution_of_the_options(mean: float, sd: float):
    torch.manual_seed(1)
    a = entmax_alpha.Normaliser(10_000, AlphaOptions(mean=mean, sd=sd)).a
    assert abs(a.mean().item() - mean) < 0.03
    assert abs(a.std().item() - sd) < 0.03


@LEARNED
def test_the_start_is_drawn_aside(plugin):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    plugin.Normaliser(4, FREE)
    assert torch.equal(torch.rand(3), expected)


@LEARNED
def test_alpha_can_be_learned(plugin):
    torch.manual_seed(1)
    normaliser = plugin.Normaliser(2, FREE)
    optimiser = torch.optim.Adam(normaliser.parameters(), lr=0.1)
    scores = torch.randn(8, 2, 4, 6)
    wanted = torch.nn.functional.one_hot(scores.argmax(-1), 6).float()
    if plugin is entmax_alpha:  # only here a head may go its own way
        wanted[:, 0] = scores[:, 0].softmax(-1)
    for _ in range(60):
        optimiser.zero_grad()
        (normaliser(scores, None) - wanted).square().sum().backward()
        optimiser.step()
    assert (normaliser.alpha[0] < 1.1) if plugin is entmax_alpha else (normaliser.alpha[0] > 1.9)
    assert normaliser.alpha[1] > 1.9


@SHARED
def test_a_shared_alpha_has_the_sum_of_the_gradients_of_its_heads(plugin):
    torch.manual_seed(1)
    shared, single = plugin.Normaliser(3, FREE), entmax_alpha.Normaliser(3, FREE)
    assert shared.a.shape == ()
    with torch.no_grad():
        single.a.fill_(shared.a)
    scores = torch.randn(2, 3, 4, 6)
    for normaliser in (shared, single):
        normaliser(scores, None).square().sum().backward()
    torch.testing.assert_close(shared(scores, None), single(scores, None), rtol=0, atol=0)
    torch.testing.assert_close(shared.a.grad, single.a.grad.sum())


def test_the_clamp_of_the_authors_stops_learning_below_it_and_no_clamp_does_not():
    scores = torch.randn(2, 2, 4, 6)
    for lowest, learns in ((1.01, [False, True]), (1.0, [True, True])):
        normaliser = entmax_alpha.Normaliser(2, AlphaOptions(lowest=lowest))
        with torch.no_grad():
            normaliser.a.copy_(torch.tensor([-6.0, -3.0]))  # α of 1.0025 and 1.047
        assert (normaliser.alpha >= lowest).all()
        assert (normaliser.alpha[0] == lowest) == (lowest == 1.01)
        normaliser(scores, None).square().sum().backward()
        assert (normaliser.a.grad != 0).tolist() == learns


@LEARNED
@pytest.mark.parametrize("keys", [6, 40])
def test_a_compiled_module_is_one_graph_with_equal_gradients(plugin, keys: int):
    torch.manual_seed(1)
    normaliser = plugin.Normaliser(2, FREE)
    scores, gradient = torch.randn(2, 3, 2, 4, keys).unbind(0)
    mask = torch.arange(keys) < keys - 2
    results = []
    for module in (normaliser, torch.compile(normaliser, fullgraph=True, backend="aot_eager")):
        normaliser.zero_grad()
        leaf = scores.clone().requires_grad_()
        weights = module(leaf, mask)
        weights.backward(gradient)
        results.append((weights.detach(), leaf.grad, normaliser.a.grad.clone()))
    torch.testing.assert_close(*results, rtol=1e-5, atol=2e-6)
