from __future__ import annotations

import torch
from small_models import SENTENCES, model

from headcount.evaluate.masking import compare, has_gaps, largest_logit_difference, masked_twin
from headcount.heads import total


def test_a_model_with_other_weights_is_told_apart() -> None:
    one, other = model().eval(), model().eval()
    targets = [[4, 5, 3], [6, 3]]
    assert largest_logit_difference(one, other, SENTENCES[:2], targets, 2) == 0
    with torch.no_grad():
        other.output_weight[4] *= 2.0
    assert largest_logit_difference(one, other, SENTENCES[:2], targets, 2) > 1e-3


def test_the_twin_has_every_head_and_computes_the_same() -> None:
    pruned = model(encoder=[[]], decoder_self=[[0, 3]]).eval()
    twin = masked_twin(pruned)
    assert total(twin.config.kept) == 12
    assert has_gaps(pruned)
    assert not has_gaps(twin)
    assert largest_logit_difference(pruned, twin, SENTENCES[:3], [[4, 3], [5, 3], [3]], 3) < 1e-5


def test_outputs_are_compared_in_the_order_of_the_sentences() -> None:
    pruned, other = model(encoder=[[1]]).eval(), model(2).eval()
    found = {id(pruned): [[4], [5, 6]], id(other): [[4], [6, 5]]}
    told = compare(pruned, other, SENTENCES[:2], lambda one: found[id(one)], 2)
    assert not told["identical_outputs"]
    assert told["max_logit_difference"] == largest_logit_difference(pruned, other, SENTENCES[:2], [[4], [6, 5]], 2) > 0
