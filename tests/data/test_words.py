"""Words for limits and leakage, in scripts with and without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.words import length, normalise, terms, unspaced, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know, Tom.", ["i", "don't", "know", ",", "tom", "."]),
        ("l’eau", ["l’eau"]),
        ("Straße", ["strasse"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("猫は好き。", ["猫", "は", "好", "き", "。"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_two_unspaced_characters_weigh_as_one_word() -> None:
    assert length("I like cats very much.") == 6
    assert length("私は猫が大好きです。") == 6


def test_a_text_is_looked_up_by_words_and_by_pairs_of_unspaced_characters() -> None:
    assert terms("I like cats.") == words("I like cats.")
    assert sorted(terms("猫は Tom が")) == sorted(["猫", "は", "tom", "が", "猫は"])
    assert [unspaced(word) for word in ("猫", "ア", "cat", "。", "猫は", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_normalise_ignores_case_marks_and_spacing() -> None:
    assert normalise("Tom  ran !") == normalise("tom ran.") == "tom ran"
    assert normalise("ﬁne") == "fine"
    assert normalise("...") != normalise("?!")


@given(st.text())
def test_length_is_never_negative_and_normalise_is_stable(text: str) -> None:
    assert 0 <= length(text) <= len(words(text))
    assert normalise(normalise(text)) == normalise(text)
