import numpy as np
import pytest
import small_study as small

from headcount.heads import ATTENTION_TYPES, full, without
from headcount.observe.record import record
from headcount.registry import load, names

GONE = [
    ("encoder", 0, 1),
    ("decoder_cross", 0, 0),
    ("decoder_cross", 0, 3),
    *(("decoder_self", 0, h) for h in range(4)),
]


def flat_scores(scores):
    return np.concatenate([layer for kind in ATTENTION_TYPES for layer in scores[kind]])


@pytest.mark.parametrize("name", names("pruning.scorers"))
def test_every_scorer_gives_a_finite_score_to_each_kept_head_and_is_pure(name):
    score_heads = load("pruning.scorers", name).score_heads
    kept = without(full(1, 1, 4), GONE, 4)
    model = small.make_model(kept)
    scores = score_heads(model, small.corpus(), seed=3)
    assert {kind: [np.shape(layer) for layer in scores[kind]] for kind in ATTENTION_TYPES} == {
        "encoder": [(3,)],
        "decoder_self": [(0,)],
        "decoder_cross": [(2,)],
    }
    assert np.isfinite(flat_scores(scores)).all()
    np.testing.assert_array_equal(flat_scores(score_heads(model, small.corpus(), seed=3)), flat_scores(scores))


def test_confidence_includes_eos_and_agrees_with_what_is_recorded():
    model = small.make_model()
    scores = load("pruning.scorers", "confidence").score_heads(model, small.corpus(), seed=1)
    observation = record(model, small.corpus(), sentences_per_batch=7)
    np.testing.assert_allclose(flat_scores(scores), observation.confidence_with_eos, rtol=1e-6)
    assert not np.allclose(flat_scores(scores), observation.confidence)


def test_random_scores_depend_on_the_seed_and_stay_with_their_head():
    score_heads = load("pruning.scorers", "random").score_heads
    dense, pruned = small.make_model(), small.make_model(without(full(1, 1, 4), GONE, 4))
    first = score_heads(dense, small.corpus(), seed=1)
    assert not np.array_equal(flat_scores(first), flat_scores(score_heads(dense, small.corpus(), seed=2)))
    after = score_heads(pruned, small.corpus(), seed=1)
    for kind in ATTENTION_TYPES:
        np.testing.assert_array_equal(after[kind][0], first[kind][0][pruned.config.kept[kind][0]])
