import copy

import numpy as np
import pytest
import small_study as small
import torch

from headcount.data.batching import make_batch
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES
from headcount.observe.relevance.ablation import loss_rises
from headcount.pruning.scorers import l0


def values(scores):
    return np.concatenate([layer for kind in ATTENTION_TYPES for layer in scores[kind]])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model that has learned enough to need some of its heads, two of which are made useless afterwards."""
    model = small.make_model()
    small.fit(model, tmp_path_factory.mktemp("trained"), updates=100)
    with torch.no_grad():
        for kind in ("encoder", "decoder_cross"):
            model.attentions()[kind, 0].output.weight[:, 4:8] = 0.0  # the output of head 1
    return model


def test_gates_of_heads_that_change_nothing_close_alike_and_the_most_needed_one_stays_open(trained):
    scores = l0.score_heads(trained, small.corpus(), seed=1)
    useless = scores["encoder"][0][1]
    assert useless == scores["decoder_cross"][0][1] < 0.1
    rises = {
        kind: rise.sum(0) for (kind, _), rise in loss_rises(trained, make_batch(small.corpus(), range(120))).items()
    }
    kind = max(rises, key=lambda kind: rises[kind].max())
    assert scores[kind][0][rises[kind].argmax()] > 0.9


def test_without_a_step_all_gates_have_the_probability_at_the_start(trained, monkeypatch):
    monkeypatch.setattr(l0, "STEPS", 0)
    scores = values(l0.score_heads(trained, small.corpus(), seed=1))
    start = 1 / (1 + np.exp(-(l0.INITIAL_LOG_ALPHA - 0.33 * np.log(0.1 / 1.1))))
    np.testing.assert_allclose(scores, start, rtol=1e-6)


def test_a_larger_penalty_closes_more(trained, monkeypatch):
    monkeypatch.setattr(l0, "STEPS", 30)
    means = []
    for penalty in (0.0, 10.0):
        monkeypatch.setattr(l0, "PENALTY", penalty)
        means.append(values(l0.score_heads(trained, small.corpus(), seed=1)).mean())
    assert means[0] > 0.5 > means[1]


def test_the_draws_of_the_gates_depend_on_the_seed_alone(trained, monkeypatch):
    monkeypatch.setattr(l0, "STEPS", 10)
    first = values(l0.score_heads(trained, small.corpus(), seed=1))
    torch.rand(3)
    again = copy.deepcopy(trained).eval()
    np.testing.assert_array_equal(values(l0.score_heads(again, small.corpus(), seed=1)), first)
    assert not np.array_equal(values(l0.score_heads(trained, small.corpus(), seed=2)), first)


def test_an_empty_corpus_is_refused(trained):
    with pytest.raises(UserError, match="no sentence pairs"):
        l0.score_heads(trained, Encoded.from_lists([], []), seed=1)
