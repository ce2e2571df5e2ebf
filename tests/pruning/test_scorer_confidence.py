import numpy as np
import pytest
import small_study as small

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES
from headcount.model.decode import translate
from headcount.observe.measures import confidence
from headcount.observe.record import record
from headcount.pruning.ranking import lowest
from headcount.pruning.scorers import confidence as own_words
from headcount.pruning.scorers import confidence_forced, inverse
from headcount.vocabulary import EOS


def values(scores):
    return np.concatenate([layer for kind in ATTENTION_TYPES for layer in scores[kind]])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that has learned a little: its translations differ from the references, also in length."""
    trained = small.make_model()
    small.fit(trained, tmp_path_factory.mktemp("little"), updates=40)
    return trained


def test_forced_confidence_includes_eos_and_agrees_with_what_is_recorded(model):
    scores = confidence_forced.score_heads(model, small.corpus(), seed=1)
    observation = record(model, small.corpus(), sentences_per_batch=7)
    np.testing.assert_allclose(values(scores), observation.confidence_with_eos, rtol=1e-6)
    assert not np.allclose(values(scores), observation.confidence)


def test_confidence_is_what_the_attentions_show_while_the_model_translates(model):
    sums = {}
    for place, attention in model.attentions().items():

        def see(weights, queries, keys, place=place):
            total, rows = confidence(weights.double(), queries, keys)
            before = sums.get(place, (0, 0))
            sums[place] = (before[0] + total, before[1] + rows)

        attention.observer = see
    sources = [small.corpus().source(i).tolist() for i in range(len(small.corpus()))]
    limit = (own_words.LENGTH_RATIO, own_words.LENGTH_EXTRA)
    written = translate(model, sources, beam=1, length_penalty=0.0, max_length=limit, sentences_per_batch=9)
    for attention in model.attentions().values():
        attention.observer = None
    scores = own_words.score_heads(model, small.corpus(), seed=1)
    steps = sum(len(pieces) + 1 for pieces in written)
    rows = {"encoder": sum(map(len, sources)), "decoder_self": steps, "decoder_cross": steps}
    assert {kind: int(sums[kind, 0][1]) for kind in ATTENTION_TYPES} == rows
    for kind in ATTENTION_TYPES:
        np.testing.assert_allclose(scores[kind][0], sums[kind, 0][0] / sums[kind, 0][1], atol=1e-6)


def test_confidence_reads_no_reference_and_forced_confidence_does(model):
    sources = [small.corpus().source(i).tolist() for i in range(len(small.corpus()))]
    other = Encoded.from_lists(sources, [[4, 4, 4, EOS]] * len(sources))
    for scorer, reads in ((own_words, False), (confidence_forced, True)):
        before, after = (values(scorer.score_heads(model, corpus, seed=1)) for corpus in (small.corpus(), other))
        assert np.array_equal(before, after) != reads
    assert not np.allclose(
        values(own_words.score_heads(model, small.corpus(), seed=1)),
        values(confidence_forced.score_heads(model, small.corpus(), seed=1)),
    )


def test_the_inverse_removes_the_most_confident_heads(model):
    kept, options = model.config.kept, {"ranking": "global", "least_per_layer": 0, "scope": "all"}
    confident = own_words.score_heads(model, small.corpus(), seed=1)
    order = lowest(confident, kept, remove=12, **options)
    inverted = inverse.score_heads(model, small.corpus(), seed=1)
    assert lowest(inverted, kept, remove=12, **options) == order[::-1]


def test_an_empty_corpus_is_refused(model):
    for scorer in (own_words, confidence_forced, inverse):
        with pytest.raises(UserError, match="no sentence pairs"):
            scorer.score_heads(model, Encoded.from_lists([], []), seed=1)
