"""Whole pairs are cleaned with counted reasons; the split leaks nothing and never falls short."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.corpus import PARTS, clean, split
from headcount.data.text import Pairs
from headcount.data.words import normalise
from headcount.errors import UserError
from headcount.settings import Data


def corpus(*pairs: tuple[str, str]) -> Pairs:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    return Pairs("test", sources, targets, list(range(1, len(pairs) + 1)), "", "", {})


def numbered(count: int) -> Pairs:
    return corpus(*((f"source number{i}", f"target nummer{i}") for i in range(count)))


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
    ],
)
def test_each_reason(source: str, target: str, reason: str) -> None:
    cleaned = clean(corpus(("good", "gut"), (source, target), ("bad", "schlecht")), Data(words_limit=8))
    assert list(zip(cleaned.sources, cleaned.targets, strict=True)) == [("good", "gut"), ("bad", "schlecht")]
    assert cleaned.rows == [1, 3]
    assert cleaned.dropped == {reason: 1}
    assert cleaned.examples[reason][0].startswith("row 2")


def test_short_pairs_pass_at_any_ratio_and_repeats_are_found_after_tidying() -> None:
    cleaned = clean(corpus(("Go", "Geh jetzt bitte weg"), ("e\u0301 x", "y"), ("\u00e9  x", "y")), Data())
    assert cleaned.sources == ["Go", "\u00e9 x"]
    assert cleaned.dropped == {"repeated pair": 1}


def test_cleaning_twice_changes_nothing() -> None:
    once = clean(corpus(("a\u2028b", "c"), ("", "d"), ("e\u00ad", "f")), Data())
    twice = clean(once, Data())
    assert (twice.sources, twice.targets, twice.rows) == (once.sources, once.targets, once.rows)
    assert (twice.dropped, twice.notes) == (once.dropped, once.notes)


sentences = st.sampled_from(["a", "A.", "b", "c c", "d", "e", "f f", "g", "h", "i", "j", "k"])


@settings(max_examples=200)
@given(st.lists(st.tuples(sentences, sentences), min_size=4, max_size=40), st.integers(0, 5))
def test_no_sentence_is_in_two_parts(pairs: list[tuple[str, str]], seed: int) -> None:
    raw = corpus(*pairs)
    try:
        parts = split(raw, Data(dev_sentences=1, test_sentences=2, split_seed=seed)).parts
    except UserError:
        return
    assert list(parts) == list(PARTS)
    assert sorted(index for part in parts.values() for index in part) == list(range(len(pairs)))
    assert (len(parts["dev"]), len(parts["test"])) == (1, 2)
    assert parts["train"]
    for side in (raw.sources, raw.targets):
        texts = [{normalise(side[index]) for index in parts[part]} for part in PARTS]
        assert sum(map(len, texts)) == len(set.union(*texts))


def test_connected_pairs_stay_together_through_others() -> None:
    chain = [("a", "x"), ("A!", "y"), ("b", "Y."), ("b", "z")]
    found = split(corpus(*chain, ("c", "u"), ("d", "v"), ("e", "w")), Data(dev_sentences=1, test_sentences=1))
    assert (found.components, found.largest) == (4, 4)
    assert set(found.parts["train"]) >= {0, 1, 2, 3}


def test_the_order_of_the_file_plays_no_role() -> None:
    forward = numbered(40)
    backward = forward.select(range(39, -1, -1))
    asked = Data(dev_sentences=5, test_sentences=7)
    for part in ("dev", "test"):
        one = [forward.sources[index] for index in split(forward, asked).parts[part]]
        assert one == [backward.sources[index] for index in split(backward, asked).parts[part]]


def test_the_test_part_depends_on_the_seed_but_not_on_the_dev_size() -> None:
    def test_part(**values: int) -> list[int]:
        return split(numbered(60), Data(test_sentences=10, **values)).parts["test"]

    assert test_part(dev_sentences=5) == test_part(dev_sentences=20)
    assert test_part(dev_sentences=5) != test_part(dev_sentences=5, split_seed=2)


@pytest.mark.parametrize(("dev", "test"), [(2, 8), (4, 20)])
def test_too_few_pairs_are_refused(dev: int, test: int) -> None:
    with pytest.raises(UserError, match=r"data\.test_sentences: .*the cleaned corpus has 10 pairs"):
        split(numbered(10), Data(dev_sentences=dev, test_sentences=test))


def test_a_part_is_never_shorter_than_asked() -> None:
    entangled = corpus(*(("same", f"t{i}") for i in range(20)), ("a", "b"), ("c", "d"))
    with pytest.raises(UserError, match=r"data\.test_sentences: 3 cannot be cut off: only 2 pairs"):
        split(entangled, Data(dev_sentences=1, test_sentences=3))
