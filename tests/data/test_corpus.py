"""Whole pairs are cleaned with counted reasons."""

from __future__ import annotations

import pytest

from headcount.data.corpus import clean
from headcount.data.text import Pairs
from headcount.settings import Data


def corpus(*pairs: tuple[str, str]) -> Pairs:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    return Pairs("test", sources, targets, list(range(1, len(pairs) + 1)), "", "", {})


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("word", "", "empty side"),
        ("\u00a0 \u00ad", "Wort", "empty side"),
        ("1 + 1 = 2", "eins plus eins", "no letters"),
        ("Berlin ", "Berlin", "source equals target"),
        ("x" * 101, "Wort", "a word of more than 100 characters"),
        ("a " * 9, "b " * 5, "more than 8 words (data.words_limit)"),
        ("a " * 8, "b " * 3, "length ratio above 2 (data.length_ratio)"),
        ("a " * 8, "猫" * 17, "more than 8 words (data.words_limit)"),
        ("a " * 8, "猫は好き。", "length ratio above 2 (data.length_ratio)"),
    ],
)
def test_each_reason(source: str, target: str, reason: str) -> None:
    cleaned = clean(corpus(("good", "gut"), (source, target), ("bad", "schlecht")), Data(words_limit=8))
    assert list(zip(cleaned.sources, cleaned.targets, strict=True)) == [("good", "gut"), ("bad", "schlecht")]
    assert cleaned.rows == [1, 3]
    assert cleaned.dropped == {reason: 1}
    assert cleaned.examples[reason][0].startswith("row 2")


def test_two_japanese_characters_count_as_one_word() -> None:
    pairs = corpus(("a " * 8, "猫" * 16), ("猫" * 16, "b " * 8), ("a " * 8, "猫" * 8))
    assert len(clean(pairs, Data(words_limit=8))) == 3


def test_short_pairs_pass_at_any_ratio_and_repeats_are_found_after_tidying() -> None:
    cleaned = clean(corpus(("Go", "Geh jetzt bitte weg"), ("e\u0301 x", "y"), ("\u00e9  x", "y")), Data())
    assert cleaned.sources == ["Go", "\u00e9 x"]
    assert cleaned.dropped == {"repeated pair": 1}


def test_cleaning_twice_changes_nothing() -> None:
    once = clean(corpus(("a\u2028b", "c"), ("", "d"), ("e\u00ad", "f")), Data())
    twice = clean(once, Data())
    assert (twice.sources, twice.targets, twice.rows) == (once.sources, once.targets, once.rows)
    assert (twice.dropped, twice.notes) == (once.dropped, once.notes)
