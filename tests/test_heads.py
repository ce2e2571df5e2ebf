"""Head tables: an id always means the original head."""

from __future__ import annotations

import pytest

from headcount.errors import UserError
from headcount.heads import count, flat, full, total, without


def test_removal_keeps_original_ids_and_repeats_do_nothing():
    kept = without(full(2, 3, 4), [("encoder", 1, 2), ("decoder_cross", 2, 0)], 4)
    assert kept["encoder"][1] == [0, 1, 3]
    again = without(kept, [("encoder", 1, 2)], 4)
    assert again == kept
    assert without(kept, [("encoder", 1, 3)], 4)["encoder"][1] == [0, 1]


def test_counts():
    kept = without(full(2, 3, 4), [("decoder_self", 0, h) for h in range(4)], 4)
    assert count(kept) == {"encoder": 8, "decoder_self": 8, "decoder_cross": 12}
    assert total(kept) == len(flat(kept)) == 28
    assert kept["decoder_self"][0] == []


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (("encoder", 2, 0), "allowed: 0 to 1"),
        (("decoder_self", 0, 4), "allowed: 0 to 3"),
        (("encoder", 0, -1), "allowed: 0 to 3"),
        (("cross", 0, 0), "did you mean 'decoder_cross'"),
    ],
)
def test_unknown_heads_are_refused_with_the_valid_range(head: tuple[str, int, int], message: str):
    with pytest.raises(UserError, match=message):
        without(full(2, 3, 4), [head], 4)
