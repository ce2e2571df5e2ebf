from pathlib import Path

import numpy as np
import pytest
import small_study as small
import torch

from headcount.heads import ATTENTION_TYPES, flat, full, without
from headcount.registry import load, names

GONE = [
    ("encoder", 0, 1),
    ("decoder_cross", 0, 0),
    ("decoder_cross", 0, 3),
    *(("decoder_self", 0, h) for h in range(4)),
]


def flat_scores(scores):
    return np.concatenate([layer for kind in ATTENTION_TYPES for layer in scores[kind]])


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """The scorer that learns does so for a moment only."""
    monkeypatch.setattr("headcount.pruning.scorers.l0.STEPS", 5)


@pytest.mark.parametrize("name", names("pruning.scorers"))
def test_every_scorer_gives_a_finite_score_to_each_kept_head_and_is_pure(name):
    score_heads = load("pruning.scorers", name).score_heads
    kept = without(full(1, 1, 4), GONE, 4)
    model = small.make_model(kept, dropout=0.2)
    scores = score_heads(model, small.corpus(), seed=3)
    assert {kind: [np.shape(layer) for layer in scores[kind]] for kind in ATTENTION_TYPES} == {
        "encoder": [(3,)],
        "decoder_self": [(0,)],
        "decoder_cross": [(2,)],
    }
    assert all(layer.dtype == np.float64 for layers in scores.values() for layer in layers)
    assert np.isfinite(flat_scores(scores)).all()
    np.testing.assert_array_equal(flat_scores(score_heads(model, small.corpus(), seed=3)), flat_scores(scores))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", names("pruning.scorers"))
def test_every_scorer_leaves_model_and_random_numbers_as_they_were(name, training):
    model = small.make_model(dropout=0.2).train(training)
    model.encoder.requires_grad_(False)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    trained = [parameter.requires_grad for parameter in model.parameters()]
    modules, noise = dict(model.named_modules()), torch.get_rng_state()
    load("pruning.scorers", name).score_heads(model, small.corpus(), seed=3)
    after = model.state_dict()
    assert after.keys() == weights.keys()
    assert all(torch.equal(after[key], value) for key, value in weights.items())
    assert [parameter.requires_grad for parameter in model.parameters()] == trained
    assert all(parameter.grad is None for parameter in model.parameters())
    assert dict(model.named_modules()) == modules
    assert all(module.training == training for module in modules.values())
    assert torch.equal(torch.get_rng_state(), noise)


@pytest.mark.parametrize("name", names("pruning.scorers"))
def test_a_model_without_heads_has_no_scores(name):
    none = without(full(1, 1, 4), flat(full(1, 1, 4)), 4)
    scores = load("pruning.scorers", name).score_heads(small.make_model(none), small.corpus(), seed=3)
    assert flat_scores(scores).size == 0


@pytest.mark.parametrize("name", names("pruning.scorers"))
def test_a_scorer_is_one_short_file(name):
    path = Path(load("pruning.scorers", name).__file__)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 80


def test_random_scores_depend_on_the_seed_and_stay_with_their_head():
    score_heads = load("pruning.scorers", "random").score_heads
    dense, pruned = small.make_model(), small.make_model(without(full(1, 1, 4), GONE, 4))
    first = score_heads(dense, small.corpus(), seed=1)
    assert not np.array_equal(flat_scores(first), flat_scores(score_heads(dense, small.corpus(), seed=2)))
    after = score_heads(pruned, small.corpus(), seed=1)
    for kind in ATTENTION_TYPES:
        np.testing.assert_array_equal(after[kind][0], first[kind][0][pruned.config.kept[kind][0]])
