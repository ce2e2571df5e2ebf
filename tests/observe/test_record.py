import contextlib
import itertools

import numpy as np
import pytest
import torch
from hand_made import labels

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, flat
from headcount.model.gates import HardConcreteGate
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.links import LinkCounter
from headcount.observe.maps import MapKeeper
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
                rows.setdefault((seen.attention, seen.layer, head), []).append((row, of_words, int(seen.sentences[0])))

    watch(model, corpus, sentences_per_batch=1, see=see)
    return rows


def densities(rows):
    """Yield the density of each sentence; `naive` sees one sentence after the other."""
    for _, sentence in itertools.groupby(rows, key=lambda row: row[2]):
        weights = [p for full, _, _ in sentence for p in full]
        yield np.count_nonzero(weights) / len(weights)


@pytest.mark.parametrize("normaliser", ["softmax", "entmax15", "entmax_alpha"])
def test_measures_equal_a_naive_loop_over_all_rows(normaliser):
    model, corpus = make_model(normaliser), encoded()
    observation = record(model, corpus, sentences_per_batch=5)
    rows = naive(model, corpus)
    assert list(zip(observation.attention, observation.layer, observation.head, strict=True)) == flat(model.config.kept)
    for index, head in enumerate(flat(model.config.kept)):
        full = [row for row, _, _ in rows[head]]
        words = [row for _, row, _ in rows[head] if row]
        close = pytest.approx
        assert observation.confidence_with_eos[index] == close(np.mean([max(row) for row in full]), rel=1e-5)
        assert observation.confidence[index] == close(np.mean([max(row) for row in words]), rel=1e-5)
        entropies = [-sum(p * np.log(p) for p in row if p > 0) for row in full]
        assert observation.entropy[index] == close(np.mean(entropies), rel=1e-5)
        used, possible = sum(p > 0 for row in full for p in row), sum(len(row) for row in full)
        assert observation.density[index] == close(used / possible)
        assert observation.density_sd[index] == close(np.std(list(densities(rows[head]))), abs=1e-7)
    if normaliser == "softmax":
        np.testing.assert_array_equal(observation.density, 1.0)
        assert (observation.density_histogram[:, -1] == len(corpus)).all()
    else:
        assert (observation.density < 1).any()


def label(corpus):
    """Label every sentence by its pieces alone: words of two pieces, a pair of the first two, high ids are rare."""
    sources = [corpus.source(i)[:-1].tolist() for i in range(len(corpus))]
    places = [
        (start + n, piece)
        for start, ids in zip(corpus.source_offsets, sources, strict=False)
        for n, piece in enumerate(ids)
    ]
    return labels(
        [[n // 2 for n in range(len(ids))] for ids in sources],
        pairs=[(i, len(ids) % 2, 0, 1) for i, ids in enumerate(sources) if len(ids) > 2],
        relations=("nsubj", "dobj"),
        baselines=(0.3, 0.6),
        rare=[[place for place, piece in places if piece > limit] for limit in (20, 16)],
        asks=[place for place, piece in places if piece < 8],
        mark=[place for place, piece in places if piece > 20],
    )


def arrays(observation):
    parts = {
        f"{part}.{name}": value
        for part in ("links", "maps")
        for name, value in vars(getattr(observation, part)).items()
    }
    return {**{name: value for name, value in vars(observation).items() if name not in ("links", "maps")}, **parts}


@pytest.mark.parametrize("normaliser", ["softmax", "entmax_alpha"])
def test_the_result_does_not_depend_on_the_batches(normaliser):
    model, corpus = make_model(normaliser), encoded()
    order = np.random.default_rng(0).permutation(len(corpus))
    shuffled = Encoded.from_lists([corpus.source(i) for i in order], [corpus.target(i) for i in order])

    def observed(of, size, kept):
        links = LinkCounter(label(of), (-1, 1), 1)
        keeper = MapKeeper(kept, of, [str(piece) for piece in range(VOCABULARY)])
        return arrays(record(model, of, sentences_per_batch=size, links=links, maps=keeper))

    reference = observed(corpus, len(corpus), [3, 4])
    assert reference["links.hits"].any()
    for other in (observed(corpus, 1, [3, 4]), observed(shuffled, 5, [order.tolist().index(i) for i in (3, 4)])):
        assert set(other) == set(reference)
        for name, value in reference.items():
            if name == "maps.sentence":
                continue
            if value.dtype == np.float64:
                np.testing.assert_allclose(other[name], value, rtol=1e-5, atol=1e-7, err_msg=name)
            else:
                np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_links_equal_a_naive_loop_over_queries_and_words():
    model, corpus = make_model("entmax15"), encoded()
    known = label(corpus)
    hits: dict[tuple[str, int], int] = {}
    cases: dict[str, int] = {}

    def count(role, row, keys, wanted):
        """row [head][key]; a query without a target is no case."""
        if wanted:
            cases[role] = cases.get(role, 0) + 1
            for head, weights in enumerate(row):
                best = max(keys, key=lambda key: weights[key])
                hits[role, head] = hits.get((role, head), 0) + (weights[best] > 0 and best in wanted)

    def see(seen):
        if (seen.attention, seen.layer) != ("encoder", 0):
            return
        (sentence,) = seen.sentences.tolist()
        start, size = int(corpus.source_offsets[sentence]), int(corpus.source_lengths[sentence]) - 1
        maps = seen.weights[0].numpy()  # [head, query, key]
        pieces = range(size)
        for query in pieces:
            row = maps[:, query]
            count("-1", row, pieces, {query - 1} & set(pieces))
            count("+1", row, pieces, {query + 1} & set(pieces))
            for number, role in enumerate(("rare-1", "rare-2")):
                count(role, row, pieces, {key for key in pieces if known.rare[number, start + key]})
        members = {word: [key for key in pieces if key // 2 == word] for word in range(-(-size // 2))}
        between = np.array(  # [head, query word, key word]
            [
                [
                    [one[np.ix_(asking, asked)].sum() / len(asking) for asked in members.values()]
                    for asking in members.values()
                ]
                for one in maps
            ]
        )
        for relation, name in enumerate(known.relations):
            pairs = [
                (head, dependent) for s, r, head, dependent in known.pairs.tolist() if (s, r) == (sentence, relation)
            ]
            for query in members:
                row = between[:, query]
                count(f"{name}:to_dependent", row, members, {dependent for head, dependent in pairs if head == query})
                count(f"{name}:to_head", row, members, {head for head, dependent in pairs if dependent == query})

    watch(model, corpus, sentences_per_batch=1, see=see)
    links = record(model, corpus, sentences_per_batch=5, links=LinkCounter(known, (-1, 1), 1)).links
    for link, (role, side) in enumerate(zip(links.role.tolist(), links.labels.tolist(), strict=True)):
        if side == "gold":
            assert cases[role] > 0
            assert links.cases[:4, link].tolist() == [cases[role]] * 4
            assert links.hits[:4, link].tolist() == [hits[role, head] for head in range(4)]


def test_links_and_maps_have_the_rows_of_the_heads_that_are_left():
    kept = {"encoder": [[1, 3], []], "decoder_self": [[], [0]], "decoder_cross": [[2], [0, 1, 2, 3]]}
    model, corpus = make_model(kept=kept), encoded()
    keeper = MapKeeper([0], corpus, [str(piece) for piece in range(VOCABULARY)])
    observation = record(
        model, corpus, sentences_per_batch=5, links=LinkCounter(label(corpus), (-1, 1), 1), maps=keeper
    )
    cases = observation.links.cases.any(1)
    assert cases.tolist() == [kind != "decoder_cross" for kind in observation.attention]
    assert len(observation.maps.encoder) == (observation.attention == "encoder").sum()
    assert len(observation.maps.decoder_cross) == (observation.attention == "decoder_cross").sum()


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

    def seen(part):
        return AttentionMap("encoder", 0, weights[part], tokens[part], tokens[part], np.arange(4)[part])

    parts = [summarise(seen(part)) for part in (slice(1), slice(1, 4))]
    for name, value in summarise(seen(slice(4))).items():
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
