import copy
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
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
    kept = full(draw(st.integers(1, 3)), draw(st.integers(1, 3)), 4)
    gone = draw(st.lists(st.sampled_from(flat(kept)), max_size=total(kept) - 1, unique=True))
    kept = without(kept, gone, 4)
    values = st.integers(-3, 3).map(float)  # few values: many ties
    scores = scores_for(kept, lambda *_: draw(values))
    return kept, scores, draw(st.integers(0, total(kept)))


@given(scored_heads(), st.sampled_from(["global", "per_type"]))
def test_exactly_the_asked_number_goes_and_the_inputs_are_untouched(case, ranking):
    kept, scores, remove = case
    before = copy.deepcopy((kept, scores))
    gone = lowest(scores, kept, remove=remove, ranking=ranking)
    assert len(gone) == len(set(gone)) == remove
    assert set(gone) <= set(flat(kept))
    assert gone == lowest(scores, kept, remove=remove, ranking=ranking)
    assert kept == before[0]
    np.testing.assert_equal(scores, before[1])


@given(scored_heads())
def test_global_ranking_keeps_no_head_below_a_removed_one(case):
    kept, scores, remove = case
    value = dict(zip(flat(kept), np.concatenate([s for k in ATTENTION_TYPES for s in scores[k]]), strict=True))
    gone = lowest(scores, kept, remove=remove, ranking="global")
    stay = set(flat(kept)) - set(gone)
    assert [value[head] for head in gone] == sorted(value.values())[:remove]
    assert all((value[g], flat(kept).index(g)) < (value[s], flat(kept).index(s)) for g in gone for s in stay)


@given(scored_heads())
def test_per_type_ranking_removes_the_same_share_of_each_type(case):
    kept, scores, remove = case
    counts = count(kept)
    gone = Counter(kind for kind, _, _ in lowest(scores, kept, remove=remove, ranking="per_type"))
    for kind in ATTENTION_TYPES:
        assert abs(gone[kind] - remove * counts[kind] / total(kept)) < 1
        assert gone[kind] <= counts[kind]


def test_ties_go_in_the_order_of_types_layers_and_ids():
    kept = full(2, 1, 2)
    gone = lowest(scores_for(kept, lambda *_: 0.5), kept, remove=5, ranking="global")
    assert gone == flat(kept)[:5]


def test_ids_mean_the_original_head_after_earlier_removals():
    kept = without(full(1, 1, 4), [("encoder", 0, 0), ("encoder", 0, 2)], 4)
    scores = scores_for(kept, lambda kind, layer, head: 0.0 if (kind, head) == ("encoder", 3) else 1.0)
    assert lowest(scores, kept, remove=1, ranking="global") == [("encoder", 0, 3)]


def test_there_is_no_minimum_per_layer_or_type():
    kept = full(2, 2, 2)
    scores = scores_for(kept, lambda kind, layer, head: 0.0 if kind == "decoder_cross" else 1.0)
    left = without(kept, lowest(scores, kept, remove=4, ranking="global"), 2)
    assert left["decoder_cross"] == [[], []]
    assert count(left) == {"encoder": 4, "decoder_self": 4, "decoder_cross": 0}


def test_all_heads_may_go_and_none_may_go():
    kept = full(1, 1, 2)
    scores = scores_for(kept, lambda *_: 1.0)
    for ranking in ("global", "per_type"):
        assert lowest(scores, kept, remove=0, ranking=ranking) == []
        assert set(lowest(scores, kept, remove=6, ranking=ranking)) == set(flat(kept))


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
    with pytest.raises(UserError, match="allowed: 0 to 6"):
        lowest(scores_for(kept, lambda *_: 1.0), kept, remove=remove, ranking="global")


def test_scores_that_are_not_finite_or_misplaced_are_refused():
    kept = full(1, 1, 2)
    with pytest.raises(UserError, match="decoder_self layer 0 head 0: score nan"):
        lowest(
            scores_for(kept, lambda kind, _, head: np.nan if (kind, head) == ("decoder_self", 0) else 1.0),
            kept,
            remove=1,
            ranking="global",
        )
    with pytest.raises(UserError, match="do not belong"):
        lowest(scores_for(full(1, 1, 3), lambda *_: 1.0), kept, remove=1, ranking="global")
