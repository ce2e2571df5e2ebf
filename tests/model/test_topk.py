import pytest
import torch

from headcount.model import topk
from headcount.model.topk import SubsetGate, SubsetMask, relaxed_top_k, straight_through, top_k
from headcount.train.optim import Group, NamedAdam


def scores(heads=10, seed=1, spread=1.0):
    noise = torch.randn(heads, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return spread * noise


def mask_of(values, *, keep, estimator="gumbel", temperature=0.5):
    mask = SubsetMask(len(values), keep=keep, estimator=estimator)
    mask.temperature = temperature
    with torch.no_grad():
        mask.importance.copy_(torch.as_tensor(values))
    return mask


@pytest.mark.parametrize("temperature", [10.0, 1.0, 0.1, 1e-3, 1e-8])
@pytest.mark.parametrize(("heads", "k"), [(1, 1), (10, 1), (10, 4), (10, 10)])
def test_the_relaxed_mask_sums_to_k(heads, k, temperature):
    for spread in (0.1, 5.0):
        mask = relaxed_top_k(scores(heads, spread=spread), k, temperature)
        torch.testing.assert_close(mask.sum(), torch.tensor(float(k), dtype=torch.float64))
        assert (mask >= 0).all()


@pytest.mark.parametrize("spread", [0.1, 1.0, 1000.0])
@pytest.mark.parametrize("k", [1, 4, 10])
def test_the_relaxed_mask_is_the_hard_one_for_a_small_temperature(k, spread):
    for seed in range(5):
        r = scores(seed=seed, spread=spread)
        torch.testing.assert_close(relaxed_top_k(r, k, 1e-8), top_k(r, k))
        assert top_k(r, k).sum() == k
        assert r[top_k(r, k) == 1].min() >= r.sort(descending=True).values[k - 1]


def test_the_relaxed_mask_by_hand():
    r = torch.tensor([3.0, 1.0], dtype=torch.float64).log()
    torch.testing.assert_close(relaxed_top_k(r, 1, 1.0), torch.tensor([0.75, 0.25], dtype=torch.float64))
    # log 3 + log(1/4) = log 1 + log(3/4): the second draw is even.
    torch.testing.assert_close(relaxed_top_k(r, 2, 1.0), torch.tensor([1.25, 0.75], dtype=torch.float64))
    # At t = 1/2 the odds of the first draw are 9 : 1, of the second (3/10)² : (9/10)².
    torch.testing.assert_close(relaxed_top_k(r, 2, 0.5), torch.tensor([0.9 + 0.1, 0.1 + 0.9], dtype=torch.float64))


def test_a_certain_draw_leaves_finite_numbers():
    r = torch.tensor([1000.0, 1.0, 0.0, -5000.0], dtype=torch.float64, requires_grad=True)
    mask = relaxed_top_k(r, 3, 0.01)  # p of the first is 1 to the last bit
    torch.testing.assert_close(mask.detach(), torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64))
    (gradient,) = torch.autograd.grad(mask @ torch.arange(4.0, dtype=torch.float64), r)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_gradient_of_the_relaxed_mask(temperature):
    r = scores(5).requires_grad_()
    assert torch.autograd.gradcheck(lambda value: relaxed_top_k(value, 3, temperature), r)


def test_straight_through_is_hard_and_passes_its_gradient_less_the_mean():
    r = scores().requires_grad_()
    mask = straight_through(r, 4)
    assert torch.equal(mask.detach(), top_k(r.detach(), 4))
    upstream = scores(seed=2)
    (gradient,) = torch.autograd.grad(mask, r, upstream)
    torch.testing.assert_close(gradient, upstream - upstream.mean())


def test_of_equal_scores_the_first_are_taken():
    assert top_k(torch.zeros(4), 2).tolist() == [1, 1, 0, 0]
    assert top_k(torch.tensor([0.0, 1.0, 1.0, 1.0]), 2).tolist() == [0, 1, 1, 0]


def test_gumbel_noise_makes_the_largest_score_a_draw_from_softmax():
    importance = torch.tensor([0.0, 1.0, -1.0, 2.0], dtype=torch.float64)
    torch.manual_seed(1)
    draws = 20_000
    winners = (importance + topk.gumbel(torch.rand(draws, 4, dtype=torch.float64))).argmax(1).bincount(minlength=4)
    torch.testing.assert_close(winners / draws, importance.softmax(0).to(torch.float32), atol=0.02, rtol=0)
    assert topk.gumbel(torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)).isfinite().all()


@pytest.mark.parametrize("estimator", ["gumbel", "straight_through"])
def test_evaluation_takes_the_largest_importances_without_noise(estimator):
    mask = mask_of([0.1, 0.3, -2.0, 0.2, 0.0], keep=2, estimator=estimator).eval()
    state = torch.get_rng_state()
    assert mask.read(0, 5).tolist() == [0, 1, 0, 1, 0]
    assert mask.read(1, 3).tolist() == [1, 0, 1]
    assert torch.equal(torch.get_rng_state(), state)
    assert mask.recent.sum() == 0


@pytest.mark.parametrize("estimator", ["gumbel", "straight_through"])
def test_one_sample_for_each_pass(estimator):
    mask = mask_of(torch.zeros(30), keep=15, estimator=estimator)
    first, second = SubsetGate(mask, 0, 2), SubsetGate(mask, 2, 28)
    torch.manual_seed(1)
    passes = [torch.cat([first(), second()]).detach() for _ in range(3)]
    torch.manual_seed(1)
    expected = [mask.sample().detach() for _ in range(3)]
    for found, wanted in zip(passes, expected, strict=True):
        assert torch.equal(found, wanted)
    assert len({tuple(found.tolist()) for found in passes}) == 3
    assert first.state_dict() == {}

    torch.manual_seed(1)
    start = first().detach()
    mask.eval()
    first(), second()
    mask.train()
    assert torch.equal(first().detach(), passes[1][:2])  # a pass that ended early, and one without noise in between
    assert torch.equal(start, passes[0][:2])


def test_factors_and_gradients_are_bounded():
    """Near ties have entries above 1 and gradients far longer than that of the loss, which would stop the weights."""
    mask = mask_of(torch.linspace(-1, 1, 30), keep=12, temperature=0.02)
    upstream = scores(30).float()
    longer, above = 0, 0
    for seed in range(10):
        torch.manual_seed(seed)
        factors = mask.sample()
        (limited,) = torch.autograd.grad(factors, mask.importance, upstream)
        torch.manual_seed(seed)
        w = mask.importance.detach().double().requires_grad_()
        relaxed = relaxed_top_k(w + topk.gumbel(torch.rand_like(w)), 12, 0.02)
        (free,) = torch.autograd.grad(relaxed.clamp(max=1), w, upstream.double())
        torch.testing.assert_close(factors.detach(), relaxed.detach().clamp(max=1).float())
        assert limited.norm() <= upstream.norm() * (1 + 1e-6)
        torch.testing.assert_close(limited.double() * free.norm(), free * limited.norm(), rtol=1e-4, atol=1e-4)
        if free.norm() <= upstream.norm():
            torch.testing.assert_close(limited, free.float())
        longer += int(free.norm() > upstream.norm())
        above += int(relaxed.max() > 1.01)
    assert longer
    assert above


@pytest.mark.parametrize("estimator", ["gumbel", "straight_through"])
def test_mass_says_whether_training_saw_the_heads_that_stay(estimator):
    decided = mask_of([90.0, -90.0, 91.0, -91.0], keep=2, estimator=estimator, temperature=0.01)
    undecided = mask_of(torch.zeros(4), keep=2, estimator=estimator, temperature=0.01)
    for _ in range(100):
        decided.sample(), undecided.sample()
    assert float(decided.mass()) == pytest.approx(1)
    assert 0.2 < float(undecided.mass()) < 0.8
    with torch.no_grad():
        decided.importance.neg_()
    assert float(decided.mass()) == pytest.approx(0)  # other heads stay now


@pytest.mark.parametrize(("estimator", "temperature"), [("gumbel", 0.3), ("straight_through", 1.0)])
def test_the_heads_that_a_loss_needs_are_found(estimator, temperature):
    needed = torch.zeros(12).index_fill(0, torch.tensor([2, 3, 7, 11]), 1.0)
    mask = mask_of(torch.zeros(12), keep=4, estimator=estimator, temperature=temperature)
    optimiser = NamedAdam([Group({"importance": mask.importance}, lambda update: 0.5)], beta1=0.9, beta2=0.98)
    torch.manual_seed(1)
    for update in range(1, 61):
        optimiser.zero_grad()
        loss = (mask.sample() - needed).square().sum()
        loss.backward()
        optimiser.step(update, clip_norm=0.0, loss=loss.detach())
    assert torch.equal(mask.chosen(), needed)
    assert float(mask.mass()) > 0.95
