"""The lookup baseline returns the target of the most similar training source."""

from __future__ import annotations

import pytest

from headcount.data import lookup as module
from headcount.data.lookup import lookup

SOURCES = ["the cat sleeps", "the dog sleeps", "the old dog barks loudly", "the cat sleeps"]
TARGETS = ["die Katze", "der Hund", "der alte Hund", "die andere Katze"]


@pytest.mark.parametrize("cells", [1, 1 << 20])
def test_nearest_by_rare_words_in_any_chunking(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    monkeypatch.setattr(module, "_CELLS", cells)
    asked = ["The CAT sleeps", "loudly barks the dog", "nothing known"]
    assert lookup(SOURCES, TARGETS, asked) == ["die Katze", "der alte Hund", ""]


def test_order_of_characters_counts_where_no_space_makes_words() -> None:
    assert lookup(["京東都は", "東京都は"], ["wrong", "right"], ["東京"]) == ["right"]


def test_a_training_source_finds_its_own_target() -> None:
    assert lookup(SOURCES[:3], TARGETS[:3], SOURCES[:3]) == TARGETS[:3]
