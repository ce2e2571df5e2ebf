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


def test_case_and_punctuation_play_no_role() -> None:
    train = ["Tom likes tea.", "Stop!"]
    assert near_duplicates(["tom likes coffee!", "Go!", "Does Tom like tea?", "Tom likes green tea"], train) == [0, 3]
