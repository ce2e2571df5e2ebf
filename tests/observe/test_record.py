import contextlib

import numpy as np
import pytest
import torch

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, flat
from headcount.model.gates import HardConcreteGate
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.measures import confidence
from headcount.observe.record import record, summarise
from headcount.observe.watch import AttentionMap, watch
from headcount.vocabulary import EOS, PAD

VOCABULARY = 24


def encoded(sentences=12, seed=3, longest=9):
    rng = np.random.default_rng(seed)

    def side():
        return [[*rng.integers(4, VOCABULARY, rng.integers(1, longest)).tolist(), EOS] for _ in range(sentences)]

    return Encoded.from_lists(side(), side())


def make_model(normaliser="softmax", kept=None, dropout=0.3):
    torch.manual_seed(2)
    return Transformer(
        ModelConfig(
            vocabulary=VOCABULARY,
            layers_encoder=2,
            layers_decoder=2,
            width=16,
            heads=4,
            feed_forward=16,
            norm="pre",
            tie_embeddings=True,
            dropout=dropout,
            attention_dropout=dropout,
            normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser),
            kept=kept or {},
        )
    )


def naive(model, corpus):
    """Loop over sentences, heads and rows; batches of one sentence have no padding."""
    rows = {}

    def see(seen):
        words = seen.word_keys[0].tolist()
        for index, head in enumerate(model.config.kept[seen.attention][seen.layer]):
            for q, token in enumerate(seen.query_tokens[0].tolist()):
                keys = q + 1 if seen.attention == "decoder_self" else seen.weights.shape[3]
                row = seen.weights[0, index, q, :keys].tolist()
                of_words = [p for p, is_word in zip(row, words, strict=False) if is_word] if token != EOS else []
                rows.setdefault((seen.attention, seen.layer, head), []).append((row, of_words))

    watch(model, corpus, sentences_per_batch=1, see=see)
    return rows


@pytest.mark.parametrize("normaliser", ["softmax", "entmax15", "entmax_alpha"])
def test_measures_equal_a_naive_loop_over_all_rows(normaliser):
    model, corpus = make_model(normaliser), encoded()
    observation = record(model, corpus, sentences_per_batch=5)
    rows = naive(model, corpus)
    assert list(zip(observation.attention, observation.layer, observation.head, strict=True)) == flat(model.config.kept)
    for index, head in enumerate(flat(model.config.kept)):
        full = [row for row, _ in rows[head]]
        words = [row for _, row in rows[head] if row]
        close = pytest.approx
        assert observation.confidence_with_eos[index] == close(np.mean([max(row) for row in full]), rel=1e-5)
        assert observation.confidence[index] == close(np.mean([max(row) for row in words]), rel=1e-5)
        entropies = [-sum(p * np.log(p) for p in row if p > 0) for row in full]
        assert observation.entropy[index] == close(np.mean(entropies), rel=1e-5)
        used, possible = sum(p > 0 for row in full for p in row), sum(len(row) for row in full)
        assert observation.density[index] == close(used / possible)
    if normaliser == "softmax":
        np.testing.assert_array_equal(observation.density, 1.0)
        assert (observation.density_histogram[:, -1] == len(corpus)).all()
    else:
        assert (observation.density < 1).any()


@pytest.mark.parametrize("normaliser", ["softmax", "entmax_alpha"])
def test_the_result_does_not_depend_on_the_batches(normaliser):
    model, corpus = make_model(normaliser), encoded()
    order = np.random.default_rng(0).permutation(len(corpus))
    shuffled = Encoded.from_lists([corpus.source(i) for i in order], [corpus.target(i) for i in order])
    reference = vars(record(model, corpus, sentences_per_batch=len(corpus)))
    for other in (record(model, corpus, sentences_per_batch=1), record(model, shuffled, sentences_per_batch=5)):
        for name, value in reference.items():
            if value.dtype == np.float64:
                np.testing.assert_allclose(getattr(other, name), value, rtol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(getattr(other, name), value, err_msg=name)


def test_every_real_row_is_counted_once():
    model, corpus = make_model(), encoded()
    rows = dict.fromkeys(ATTENTION_TYPES, 0)
    eos = dict.fromkeys(ATTENTION_TYPES, 0)

    def see(seen):
        if seen.layer == 0:
            rows[seen.attention] += int(seen.queries.sum())
            eos[seen.attention] += int((seen.queries & ~seen.word_queries).sum())
        # what may not be attended to has weight 0, and each real row is a distribution
        real = seen.queries[:, None, :, None]
        assert not seen.weights[(real & ~seen.allowed[:, None]).expand_as(seen.weights)].any()
        sums = seen.weights.sum(-1)[seen.queries[:, None].expand(*seen.weights.shape[:3])]
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-6, rtol=0)

    watch(model, corpus, sentences_per_batch=4, see=see)
    source, target = int(corpus.source_lengths.sum()), int(corpus.target_lengths.sum())
    assert rows == {"encoder": source, "decoder_self": target, "decoder_cross": target}
    assert eos == {"encoder": len(corpus), "decoder_self": 0, "decoder_cross": 0}


def test_possible_positions_are_those_of_the_paper():
    model, corpus = make_model(), encoded()
    possible = dict.fromkeys(ATTENTION_TYPES, 0)

    def see(seen):
        if seen.layer == 0:
            possible[seen.attention] += int(summarise(seen)["possible"])

    watch(model, corpus, sentences_per_batch=4, see=see)
    source, target = corpus.source_lengths, corpus.target_lengths
    assert possible == {
        "encoder": (source**2).sum(),
        "decoder_self": (target * (target + 1) // 2).sum(),
        "decoder_cross": (source * target).sum(),
    }


def test_summaries_of_two_maps_add_up_to_those_of_both():
    generator = torch.Generator().manual_seed(1)
    weights = torch.rand(4, 2, 3, 3, generator=generator, dtype=torch.float64).softmax(-1)
    tokens = torch.tensor([[5, 6, EOS], [7, EOS, PAD], [8, 9, EOS], [EOS, PAD, PAD]])
    parts = [summarise(AttentionMap("encoder", 0, weights[i], tokens[i], tokens[i])) for i in (slice(1), slice(1, 4))]
    for name, value in summarise(AttentionMap("encoder", 0, weights, tokens, tokens)).items():
        torch.testing.assert_close(parts[0][name] + parts[1][name], value)


def test_heads_are_named_by_their_original_id_and_empty_layers_are_left_out():
    kept = {
        "encoder": [[1, 3], []],
        "decoder_self": [[], []],
        "decoder_cross": [[2], [0, 1, 2, 3]],
    }
    model = make_model("entmax_alpha", kept)
    observation = record(model, encoded(), sentences_per_batch=5)
    assert list(zip(observation.attention, observation.layer, observation.head, strict=True)) == flat(kept)
    layers = list(zip(observation.layer_attention, observation.layer_index, strict=True))
    assert layers == [("encoder", 0), ("decoder_cross", 0), ("decoder_cross", 1)]
    assert np.isnan(observation.diversity).tolist() == [False, True, False]  # one head differs from no other
    assert len(observation.density_histogram) == 7
    alphas = {place: attention.normaliser.alpha.tolist() for place, attention in model.attentions().items()}
    np.testing.assert_allclose(observation.alpha, [a for place in layers for a in alphas[place]])


def test_a_model_without_any_head_gives_an_empty_observation(tmp_path):
    model = make_model(kept={kind: [[], []] for kind in ATTENTION_TYPES})
    observation = record(model, encoded(), sentences_per_batch=5)
    observation.save(tmp_path / "observation.npz")
    assert observation.to_table().empty
    assert observation.density_histogram.shape == (0, 15)


def test_an_empty_corpus_is_refused():
    with pytest.raises(UserError, match="no sentence pairs"):
        record(make_model(), Encoded.from_lists([], []), sentences_per_batch=5)


def test_mode_observers_and_gradients_are_as_before_also_after_an_error():
    model = make_model()
    model.train()
    sentinel = object()
    model.attentions()["encoder", 0].observer = sentinel

    def fail(seen):
        raise KeyError(seen.attention)

    for see in (lambda seen: None, fail):
        with contextlib.suppress(KeyError):
            watch(model, encoded(), sentences_per_batch=5, see=see)
        assert model.training
        assert [a.observer for a in model.attentions().values()] == [sentinel, None, None, None, None, None]
    model.eval()
    watch(model, encoded(), sentences_per_batch=5, see=lambda seen: None)
    assert not model.training


def test_dropout_and_gate_noise_take_no_part():
    model, corpus = make_model(dropout=0.5), encoded()
    for attention in model.attentions().values():
        attention.gate = HardConcreteGate(4, initial_log_alpha=2.5, temperature=0.33, low=-0.1, high=1.1)
    model.train()
    first, second = (record(model, corpus, sentences_per_batch=5) for _ in range(2))
    np.testing.assert_array_equal(first.confidence, second.confidence)
    for attention in model.attentions().values():
        attention.gate = None
    np.testing.assert_allclose(record(model, corpus, sentences_per_batch=5).confidence, first.confidence)


def test_uniform_attention_of_a_real_model_has_confidence_one_over_n():
    model = make_model()
    with torch.no_grad():
        for attention in model.attentions().values():
            attention.query.weight.zero_()
            attention.query.bias.zero_()
    corpus = Encoded.from_lists([[5, 6, 7, EOS], [8, EOS]], [[5, EOS], [6, 7, EOS]])
    observation = record(model, corpus, sentences_per_batch=2)
    of_encoder = observation.attention == "encoder"
    np.testing.assert_allclose(observation.confidence_with_eos[of_encoder], (4 * 1 / 4 + 2 * 1 / 2) / 6)
    np.testing.assert_allclose(observation.confidence[of_encoder], (3 * 1 / 4 + 1 * 1 / 2) / 4)
    of_decoder = observation.attention == "decoder_self"
    np.testing.assert_allclose(observation.confidence[of_decoder], (1 + 1 / 2 + 1 + 1 / 2 + 1 / 3) / 5, rtol=1e-6)
    np.testing.assert_allclose(observation.diversity, 0.0, atol=1e-12)


def test_confidence_ignores_what_padding_rows_attend_to():
    model, corpus = make_model(), encoded()
    seen_maps = []
    watch(model, corpus, sentences_per_batch=len(corpus), see=seen_maps.append)
    for seen in seen_maps:
        rubbish = seen.weights.masked_fill(~seen.queries[:, None, :, None], 17.0)
        before = confidence(seen.weights, seen.queries, seen.keys)
        after = confidence(rubbish, seen.queries, seen.keys)
        assert torch.equal(before[0], after[0])
