import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from headcount.data.batching import make_batch
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, flat, without
from headcount.model.gates import FixedGate
from headcount.model.shape import ModelConfig
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.observe.relevance.ablation import gate_gradients, loss_rises
from headcount.observe.relevance.importance import COLUMNS, estimate, importance, shares
from headcount.observe.relevance.propagate import step_relevance
from headcount.observe.relevance.rules import AlphaBeta
from headcount.vocabulary import EOS, PAD

SHARES = ("lrp_epsilon", "lrp_alpha_beta", "gradient_times_activation", "gate_gradient")
KEYS = ["attention", "layer", "head", "measure"]


def encoded(sentences=7, seed=3):
    rng = np.random.default_rng(seed)

    def side():
        return [[*rng.integers(4, 20, rng.integers(1, 7)).tolist(), EOS] for _ in range(sentences)]

    return Encoded.from_lists(side(), side())


def make_model(kept=None, normaliser="softmax"):
    torch.manual_seed(2)
    return Transformer(
        ModelConfig(
            vocabulary=20,
            layers_encoder=2,
            layers_decoder=1,
            width=12,
            heads=3,
            feed_forward=16,
            norm="pre",
            tie_embeddings=True,
            dropout=0.3,
            attention_dropout=0.3,
            normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser),
            kept=kept or {},
        )
    ).double()


def measure(model, corpus, prefixes=None, positions_per_batch=24):
    table = importance(model, corpus, prefixes or corpus, epsilon=1e-9, positions_per_batch=positions_per_batch)
    assert list(table.columns) == list(COLUMNS)
    return table.set_index(KEYS)


def loss(model, batch):
    logits = model(batch.source, batch.target_input)
    return nn.functional.cross_entropy(logits.flatten(0, 1), batch.target_output.flatten(), ignore_index=PAD)


@pytest.mark.parametrize("normaliser", ["softmax", "entmax_alpha"])
def test_every_head_has_every_measure_and_shares_add_up_to_one(normaliser):
    kept = {"encoder": [[0, 2], [1]], "decoder_self": [[]], "decoder_cross": [[0, 1, 2]]}
    table = measure(make_model(kept, normaliser), encoded())
    heads = {(*head, name) for head in flat(kept) for name in (*SHARES, "leave_one_out")}
    assert set(table.index) == heads
    sums = table["value"].groupby(["measure", "attention", "layer"]).sum()
    np.testing.assert_allclose(sums[list(SHARES)], 1.0)
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()


def test_the_result_does_not_depend_on_the_batches():
    model, corpus = make_model(), encoded()
    order = np.random.default_rng(0).permutation(len(corpus))
    shuffled = Encoded.from_lists([corpus.source(i) for i in order], [corpus.target(i) for i in order])
    reference = measure(model, corpus, positions_per_batch=1000)
    for other in (measure(model, corpus, positions_per_batch=1), measure(model, shuffled, positions_per_batch=15)):
        pd.testing.assert_frame_equal(other, reference)


def test_batches_are_as_small_as_was_asked(monkeypatch):
    corpus, module = encoded(), sys.modules[importance.__module__]
    seen = []

    def remember(corpus, ids):
        seen.append((ids, make_batch(corpus, ids)))
        return seen[-1][1]

    monkeypatch.setattr(module, "make_batch", remember)
    measure(make_model(), corpus, positions_per_batch=16)
    assert sorted(sentence for ids, _ in seen[::2] for sentence in ids) == list(range(len(corpus)))
    for ids, batch in seen:
        assert len(ids) == 1 or len(ids) * max(batch.source.shape[1], batch.target_output.shape[1]) <= 16


def test_relevance_is_the_mean_share_over_all_steps():
    model, corpus = make_model(), encoded()
    found = []
    model.eval()
    for i in range(len(corpus)):
        batch = make_batch(corpus, [i])
        relevance = step_relevance(model, AlphaBeta(), batch.source, batch.target_input)["encoder", 1][0]
        found += [(step.abs() / step.abs().sum()).tolist() for step in relevance]
    table = measure(model, corpus)["value"]
    ours = [table["encoder", 1, head, "lrp_alpha_beta"] for head in range(3)]
    np.testing.assert_allclose(ours, np.mean(found, axis=0))


def test_shares_skip_padding_and_steps_without_relevance():
    relevance = torch.tensor([[[1.0, -3.0], [0.0, 0.0], [5.0, 5.0]], [[2.0, 2.0], [1.0, 0.0], [0.0, 0.0]]])
    steps = torch.tensor([[True, True, False], [True, True, False]])
    numerators, denominators = shares(relevance, steps)
    assert numerators.tolist() == [[0.25, 0.75], [1.5, 0.5]]
    assert denominators.tolist() == [1, 2]


def test_leaving_a_head_out_is_removing_it():
    model, corpus = make_model(), encoded()
    table = measure(model, corpus)
    batch = make_batch(corpus, range(len(corpus)))
    for head in flat(model.config.kept):
        smaller = without(model.config.kept, [head], 3)
        state, config = remove_heads(model.state_dict(), model.config, smaller)
        removed = Transformer(config).double()
        removed.load_state_dict(state)
        rise = loss(removed.eval(), batch) - loss(model.eval(), batch)
        assert table["value"][*head, "leave_one_out"] == pytest.approx(rise.item())


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.factors = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self):
        return self.factors


def test_gate_gradients_are_those_of_a_gate():
    model, corpus = make_model().eval(), encoded()
    found = gate_gradients(model, make_batch(corpus, range(len(corpus))))
    for attention in model.attentions().values():
        attention.gate = Factors()
    for i in range(len(corpus)):
        batch = make_batch(corpus, [i])
        (loss(model, batch) * batch.target_tokens).backward()
        for place, attention in model.attentions().items():
            torch.testing.assert_close(found[place][i], attention.gate.factors.grad.abs())
            attention.gate.factors.grad = None


def test_gates_that_a_model_has_already_stay_and_are_respected():
    model, batch = make_model().eval(), make_batch(encoded(), range(7))
    gate = FixedGate([1.0, 0.0, 0.5]).double()
    model.attentions()["encoder", 0].gate = gate
    rises = loss_rises(model, batch)["encoder", 0]
    assert model.attentions()["encoder", 0].gate is gate
    assert not rises[:, 1].any()  # masking a closed head changes nothing
    assert rises[:, [0, 2]].all()


def test_prefixes_are_what_is_explained_and_references_are_what_is_lost():
    model, corpus = make_model(), encoded()
    written = Encoded.from_lists([corpus.source(i) for i in range(7)], [[5, 6, EOS]] * 7)
    before, after = measure(model, corpus)["value"], measure(model, corpus, written)["value"]
    changed = (before - after).abs().groupby("measure").max() > 1e-6
    assert changed.to_dict() == {
        "lrp_epsilon": True,
        "lrp_alpha_beta": True,
        "gradient_times_activation": True,
        "gate_gradient": False,
        "leave_one_out": False,
    }


def test_interval_of_equally_long_sentences_is_that_of_a_mean():
    x = np.random.default_rng(0).normal(size=(50, 2))
    value, low, high = estimate(3 * x, np.full(50, 3.0))
    np.testing.assert_allclose(value, x.mean(0))
    np.testing.assert_allclose(high - value, 1.959964 * x.std(0, ddof=1) / np.sqrt(50))
    np.testing.assert_allclose(value - low, high - value)


def test_interval_weighs_sentences_by_their_steps():
    numerators, steps = np.array([[1.0], [4.0], [1.0]]), np.array([2.0, 8.0, 2.0])
    value, low, high = estimate(numerators, steps)
    assert (value, low, high) == (0.5, 0.5, 0.5)  # all sentences agree on the ratio


def test_a_single_sentence_has_no_interval():
    table = measure(make_model(), encoded(sentences=1))
    assert table["low"].isna().all()
    assert table["high"].isna().all()
    assert table["value"].notna().all()


def test_heads_on_which_nothing_depends_have_no_share():
    kept = {"decoder_self": [[]], "decoder_cross": [[]]}
    table = measure(make_model(kept), encoded())
    assert set(table.index.get_level_values("measure")) == {"leave_one_out"}
    assert (table["value"] == 0).all()


def test_a_model_without_heads_gives_an_empty_table():
    nothing = {"encoder": [[], []], "decoder_self": [[]], "decoder_cross": [[]]}
    assert measure(make_model(nothing), encoded()).empty


def test_an_empty_corpus_is_refused():
    with pytest.raises(UserError, match="no sentence pairs"):
        measure(make_model(), Encoded.from_lists([], []))
