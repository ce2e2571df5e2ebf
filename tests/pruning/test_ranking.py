import copy
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, count, flat, full, total, without
from headcount.pruning.ranking import lowest, shares


def scores_for(kept, value):
    return {
        kind: [np.array([value(kind, layer, head) for head in ids], dtype=float) for layer, ids in enumerate(layers)]
        for kind, layers in kept.items()
    }


@st.composite
def scored_heads(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))  # faster than to draw each head by itself
    kept = full(draw(st.integers(1, 3)), draw(st.integers(1, 3)), 4)
    gone = rng.permutation(total(kept))[: draw(st.integers(0, total(kept) - 1))]
    kept = without(kept, [flat(kept)[index] for index in gone], 4)
    scores = scores_for(kept, lambda *_: rng.integers(-3, 4))  # few values: many ties
    return kept, scores, draw(st.integers(0, total(kept)))


RANKINGS = st.sampled_from(["global", "per_type", "per_layer"])
SCOPES = st.sampled_from(["encoder", "all"])
LEAST = st.integers(0, 3)
PLAIN = {"ranking": "global", "least_per_layer": 0, "scope": "all"}


def spare(kept, least, scope):
    """Heads of each layer that may go."""
    return {
        (kind, layer): max(len(ids) - least, 0)
        for kind, layers in kept.items()
        for layer, ids in enumerate(layers)
        if scope == "all" or kind == "encoder"
    }


def values(kept, scores):
    """Score and place in the order of ties of each head."""
    found = np.concatenate([layer for kind in ATTENTION_TYPES for layer in scores[kind]])
    return {head: (value, place) for place, (head, value) in enumerate(zip(flat(kept), found, strict=True))}


@settings(deadline=None, max_examples=60)
@given(scored_heads(), RANKINGS, LEAST, SCOPES)
def test_exactly_the_asked_number_goes_and_the_least_stays(case, ranking, least, scope):
    kept, scores, remove = case
    room = spare(kept, least, scope)
    remove = min(remove, sum(room.values()))
    before = copy.deepcopy((kept, scores))
    options = {"remove": remove, "ranking": ranking, "least_per_layer": least, "scope": scope}
    gone = lowest(scores, kept, **options)
    assert len(gone) == len(set(gone)) == remove
    assert set(gone) <= set(flat(kept))
    assert all(number <= room.get(place, 0) for place, number in Counter(head[:2] for head in gone).items())
    assert gone == sorted(gone, key=values(kept, scores).get)
    assert gone == lowest(scores, kept, **options)
    assert kept == before[0]
    np.testing.assert_equal(scores, before[1])


@settings(deadline=None, max_examples=60)
@given(scored_heads())
def test_global_ranking_is_a_plain_sort(case):
    kept, scores, remove = case
    assert lowest(scores, kept, remove=remove, **PLAIN) == sorted(flat(kept), key=values(kept, scores).get)[:remove]


@settings(deadline=None, max_examples=60)
@given(scored_heads(), RANKINGS, LEAST)
def test_a_head_stays_below_a_removed_one_only_in_a_layer_or_group_that_gives_no_more(case, ranking, least):
    kept, scores, remove = case
    room = spare(kept, least, "all")
    remove = min(remove, sum(room.values()))
    gone = lowest(scores, kept, remove=remove, ranking=ranking, least_per_layer=least, scope="all")
    room = Counter(room)
    room.subtract(head[:2] for head in gone)
    value, entries = values(kept, scores), {"global": 0, "per_type": 1, "per_layer": 2}[ranking]
    for head in set(flat(kept)) - set(gone):
        if room[head[:2]]:
            compared = [other for other in gone if other[:entries] == head[:entries]]
            assert all(value[other] < value[head] for other in compared)


@settings(deadline=None, max_examples=60)
@given(scored_heads(), st.sampled_from([("per_type", 1), ("per_layer", 2)]), LEAST, SCOPES)
def test_every_group_gives_the_same_share_of_its_spare_heads(case, ranking, least, scope):
    kept, scores, remove = case
    room, groups = spare(kept, least, scope), Counter()
    for place, number in room.items():
        groups[place[: ranking[1]]] += number
    remove = min(remove, groups.total())
    gone = lowest(scores, kept, remove=remove, ranking=ranking[0], least_per_layer=least, scope=scope)
    given_up = Counter(head[: ranking[1]] for head in gone)
    for group, number in groups.items():
        assert abs(given_up[group] - remove * number / max(groups.total(), 1)) < 1
        assert given_up[group] <= number


@settings(deadline=None, max_examples=60)
@given(scored_heads(), RANKINGS, LEAST)
def test_in_scope_encoder_the_decoder_might_as_well_not_exist(case, ranking, least):
    kept, scores, remove = case
    alone = {**{kind: [[] for _ in rows] for kind, rows in kept.items()}, "encoder": kept["encoder"]}
    own = {kind: [values[: len(ids)] for values, ids in zip(scores[kind], alone[kind], strict=True)] for kind in kept}
    remove = min(remove, sum(spare(kept, least, "encoder").values()))
    options = {"remove": remove, "ranking": ranking, "least_per_layer": least}
    assert lowest(scores, kept, scope="encoder", **options) == lowest(own, alone, scope="all", **options)


def test_rounds_per_layer_leave_layers_of_almost_equal_size():
    """18 layers of 4 heads lose 9 heads a round; every second round all layers are equal again."""
    kept = full(6, 6, 4)
    rng = np.random.default_rng(1)
    for number in range(1, 9):
        scores = scores_for(kept, lambda *_: rng.random())
        gone = lowest(scores, kept, remove=9, ranking="per_layer", least_per_layer=0, scope="all")
        kept = without(kept, gone, 4)
        sizes = {len(ids) for kind in ATTENTION_TYPES for ids in kept[kind]}
        assert sizes == {4 - number // 2, 4 - (number + 1) // 2}
    assert total(kept) == 0


def test_a_layer_that_has_less_than_the_least_keeps_what_it_has():
    kept = without(full(1, 1, 4), [("encoder", 0, head) for head in range(3)], 4)
    scores = scores_for(kept, lambda kind, *_: 0.0 if kind == "encoder" else 1.0)
    gone = lowest(scores, kept, remove=4, ranking="global", least_per_layer=2, scope="all")
    assert count(without(kept, gone, 4)) == {"encoder": 1, "decoder_self": 2, "decoder_cross": 2}


def test_ties_go_in_the_order_of_types_layers_and_ids():
    kept = full(2, 1, 2)
    gone = lowest(scores_for(kept, lambda *_: 0.5), kept, remove=5, **PLAIN)
    assert gone == flat(kept)[:5]


def test_ids_mean_the_original_head_after_earlier_removals():
    kept = without(full(1, 1, 4), [("encoder", 0, 0), ("encoder", 0, 2)], 4)
    scores = scores_for(kept, lambda kind, layer, head: 0.0 if (kind, head) == ("encoder", 3) else 1.0)
    assert lowest(scores, kept, remove=1, **PLAIN) == [("encoder", 0, 3)]


def test_there_is_no_minimum_per_layer_or_type():
    kept = full(2, 2, 2)
    scores = scores_for(kept, lambda kind, layer, head: 0.0 if kind == "decoder_cross" else 1.0)
    left = without(kept, lowest(scores, kept, remove=4, **PLAIN), 2)
    assert left["decoder_cross"] == [[], []]
    assert count(left) == {"encoder": 4, "decoder_self": 4, "decoder_cross": 0}


def test_all_heads_may_go_and_none_may_go():
    kept = full(1, 1, 2)
    scores = scores_for(kept, lambda *_: 1.0)
    for ranking in ("global", "per_type", "per_layer"):
        options = {**PLAIN, "ranking": ranking}
        assert lowest(scores, kept, remove=0, **options) == []
        assert set(lowest(scores, kept, remove=6, **options)) == set(flat(kept))


def test_shares_are_whole_and_add_up():
    assert shares({"encoder": 24, "decoder_self": 24, "decoder_cross": 24}, 9) == dict.fromkeys(ATTENTION_TYPES, 3)
    assert shares({"encoder": 4, "decoder_self": 4, "decoder_cross": 4}, 4) == {
        "encoder": 2,
        "decoder_self": 1,
        "decoder_cross": 1,
    }
    assert shares(dict.fromkeys(ATTENTION_TYPES, 0), 0) == dict.fromkeys(ATTENTION_TYPES, 0)


@pytest.mark.parametrize("remove", [-1, 7])
def test_an_impossible_number_is_refused_with_the_range(remove):
    kept = full(1, 1, 2)
    with pytest.raises(UserError, match="heads cannot be removed from 6; allowed: 0 to 6"):
        lowest(scores_for(kept, lambda *_: 1.0), kept, remove=remove, **PLAIN)


def test_a_refusal_names_scope_and_least():
    kept = full(3, 3, 4)
    scores = scores_for(kept, lambda *_: 1.0)
    with pytest.raises(UserError, match="from 12 encoder heads; 2 of each layer stay; allowed: 0 to 6"):
        lowest(scores, kept, remove=7, ranking="global", least_per_layer=2, scope="encoder")
    assert len(lowest(scores, kept, remove=6, ranking="global", least_per_layer=2, scope="encoder")) == 6


def test_scores_that_are_not_finite_or_misplaced_are_refused():
    kept = full(1, 1, 2)
    with pytest.raises(UserError, match="decoder_self layer 0 head 0: score nan"):
        lowest(
            scores_for(kept, lambda kind, _, head: np.nan if (kind, head) == ("decoder_self", 0) else 1.0),
            kept,
            remove=1,
            **PLAIN,
        )
    with pytest.raises(UserError, match="do not belong"):
        lowest(scores_for(full(1, 1, 3), lambda *_: 1.0), kept, remove=1, **PLAIN)
