"""Near-duplicates by index equal a direct comparison of every pair."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.duplicates import near_duplicates


def one_word_apart(one: list[str], other: list[str]) -> bool:
    """The definition: at most one substitution, insertion or deletion, and a common part."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) == len(longer):
        return len(one) > 1 and sum(a != b for a, b in zip(one, other, strict=True)) == 1
    return len(longer) - len(shorter) == 1 and any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))


sentence = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)


@settings(max_examples=300)
@given(st.lists(sentence, max_size=5), st.lists(sentence, max_size=5))
def test_equals_the_definition(test: list[list[str]], train: list[list[str]]) -> None:
    expected = [i for i, words in enumerate(test) if any(one_word_apart(words, other) for other in train)]
    assert near_duplicates([" ".join(words) for words in test], [" ".join(words) for words in train]) == expected


def without_one(units: str) -> set[tuple[int, str]]:
    """Return every way to leave out one or two neighbouring characters."""
    return {(i, units[:i] + units[i + size :]) for size in (1, 2) for i in range(len(units) - size + 1)}


def one_unspaced_word_apart(one: str, other: str) -> bool:
    """The definition for scripts without spaces: a word is one character or two neighbours; a common part is left."""
    if one == other:
        return True
    gone, left = ({(i, rest) for i, rest in without_one(units) if rest} for units in (one, other))
    return one in {rest for _, rest in left} or other in {rest for _, rest in gone} or bool(gone & left)


unspaced_sentence = st.text("猫犬鳥", min_size=1, max_size=6)


@settings(max_examples=300)
@given(st.lists(unspaced_sentence, max_size=5), st.lists(unspaced_sentence, max_size=5))
def test_equals_the_definition_without_spaces(test: list[str], train: list[str]) -> None:
    expected = [i for i, text in enumerate(test) if any(one_unspaced_word_apart(text, other) for other in train)]
    assert near_duplicates(test, train) == expected


def test_a_japanese_word_of_two_characters_is_one_word() -> None:
    assert near_duplicates(["私は雑誌を読む。", "私は新聞を読む。", "彼は新聞を書く。"], ["私は小説を読む"]) == [0, 1]


def test_case_and_punctuation_play_no_role() -> None:
    train = ["Tom likes tea.", "Stop!"]
    assert near_duplicates(["tom likes coffee!", "Go!", "Does Tom like tea?", "Tom likes green tea"], train) == [0, 3]
