import numpy as np
import pytest
import small_study as small
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from headcount.data.batching import make_batch
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, full, without
from headcount.pruning.scorers.michel import SENTENCES_PER_BATCH, score_heads
from headcount.vocabulary import PAD


class Gauge(nn.Module):
    """Factors of 1 whose gradient is asked for."""

    def __init__(self, heads):
        super().__init__()
        self.factors = nn.Parameter(torch.ones(heads))

    def forward(self):
        return self.factors


def by_hand(model, corpus):
    """One sentence at a time, with factors in the model's own forward pass; [head] for each attention."""
    model.eval()
    gauges = {place: Gauge(len(part.kept)) for place, part in model.attentions().items() if part.kept}
    for place, gauge in gauges.items():
        model.attentions()[place].gate = gauge
    sums = {place: torch.zeros(len(gauge.factors)) for place, gauge in gauges.items()}
    for sentence in range(len(corpus)):
        batch = make_batch(corpus, [sentence])
        logits = model(batch.source, batch.target_input)
        loss = cross_entropy(logits.transpose(1, 2), batch.target_output, ignore_index=PAD, reduction="sum")
        found = torch.autograd.grad(loss, [gauge.factors for gauge in gauges.values()])
        for place, gradient in zip(gauges, found, strict=True):
            sums[place] += gradient.abs()
    for place in gauges:
        model.attentions()[place].gate = None
    return {place: (total / len(corpus)).detach().numpy() for place, total in sums.items()}


def test_the_score_is_the_mean_of_one_absolute_derivative_a_sentence_over_the_norm_of_its_layer():
    kept = without(full(2, 1, 4), [("encoder", 1, 0), ("decoder_cross", 0, 1), ("decoder_cross", 0, 2)], 4)
    model = small.make_model(kept, layers_encoder=2, dropout=0.3)
    corpus = small.corpus(pairs=2 * SENTENCES_PER_BATCH + 5)
    scores = score_heads(model.train(), corpus, seed=1)
    for (kind, layer), mean in by_hand(model, corpus).items():
        np.testing.assert_allclose(scores[kind][layer], mean / np.linalg.norm(mean), rtol=1e-4)
        assert np.linalg.norm(scores[kind][layer]) == pytest.approx(1)


def test_a_layer_on_which_nothing_depends_has_score_0_and_a_single_head_has_1():
    model = small.make_model(without(full(1, 1, 4), [("decoder_self", 0, head) for head in range(3)], 4))
    with torch.no_grad():
        model.attentions()["decoder_cross", 0].output.weight.zero_()
    scores = score_heads(model, small.corpus(), seed=1)
    assert scores["encoder"][0].tolist() == [0.0] * 4
    assert scores["decoder_self"][0] == pytest.approx(1)


def test_a_head_of_no_effect_scores_lowest_in_its_layer():
    model = small.make_model()
    with torch.no_grad():
        for attention in model.attentions().values():
            attention.output.weight[:, 8:12] = 0.0  # the output of head 2
    scores = score_heads(model, small.corpus(), seed=1)
    for kind in ATTENTION_TYPES:
        assert scores[kind][0][2] == 0.0
        assert (np.delete(scores[kind][0], 2) > 0).all()


def test_an_empty_corpus_is_refused():
    with pytest.raises(UserError, match="no sentence pairs"):
        score_heads(small.make_model(), Encoded.from_lists([], []), seed=1)
