"""The split leaks nothing, never falls short, keeps documents whole and does not depend on the order of the file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.split import PARTS, split
from headcount.data.text import Pairs
from headcount.data.words import normalise
from headcount.errors import UserError
from headcount.settings import Data


def corpus(*pairs: tuple[str, str], documents: list[str] | None = None) -> Pairs:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    return Pairs("test", sources, targets, list(range(1, len(pairs) + 1)), "", "", {}, documents=documents)


def numbered(count: int) -> Pairs:
    return corpus(*((f"source number{i}", f"target nummer{i}") for i in range(count)))


def assert_nothing_leaks(pairs: Pairs, parts: dict[str, list[int]]) -> None:
    for side in (pairs.sources, pairs.targets):
        texts = [{normalise(side[index]) for index in parts[part]} for part in PARTS]
        assert sum(map(len, texts)) == len(set.union(*texts))


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
    assert_nothing_leaks(raw, parts)


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


# Documents


@settings(max_examples=200)
@given(st.lists(st.tuples(sentences, sentences, st.sampled_from("pqrstu")), min_size=4, max_size=40), st.integers(0, 5))
def test_documents_stay_whole_and_nothing_leaks(rows: list[tuple[str, str, str]], seed: int) -> None:
    documents = [document for _, _, document in rows]
    raw = corpus(*((source, target) for source, target, _ in rows), documents=documents)
    try:
        found = split(raw, Data(dev_sentences=1, test_sentences=2, split_seed=seed))
    except UserError:
        return
    parts = found.parts
    assert (len(parts["dev"]), len(parts["test"])) == (1, 2)
    assert parts["train"]
    assert_nothing_leaks(raw, parts)
    of = [{documents[index] for index in parts[part]} for part in PARTS]
    assert sum(map(len, of)) == len(set.union(*of))
    used = [index for indices in (*parts.values(), *found.unused.values()) for index in indices]
    assert sorted(used) == list(range(len(rows)))
    assert (found.components, found.largest) == (len(set(documents)), max(map(documents.count, documents)))


def pages(count: int, size: int) -> Pairs:
    pairs = numbered(count * size)
    return replace(pairs, documents=[f"page{i // size}" for i in range(len(pairs))])


def test_pairs_of_a_document_beyond_the_asked_size_are_left_out_by_name() -> None:
    found = split(pages(8, 5), Data(dev_sentences=3, test_sentences=5))
    assert {part: len(found.parts[part]) for part in PARTS} == {"train": 30, "dev": 3, "test": 5}
    assert {reason: len(left) for reason, left in found.unused.items()} == {
        "beyond the size of dev or test, in their last document": 2
    }


def test_repeats_of_a_test_sentence_are_left_out_of_the_training_part() -> None:
    raw = pages(8, 5)
    asked = Data(dev_sentences=5, test_sentences=5)
    before = split(raw, asked).parts
    repeated, copied = before["train"][7], before["test"][0]
    changed = replace(raw, targets=[raw.targets[copied] if i == repeated else t for i, t in enumerate(raw.targets)])
    found = split(changed, asked)
    assert found.parts == {**before, "train": [index for index in before["train"] if index != repeated]}
    assert found.unused == {"a sentence of dev or test in another document": [repeated]}


def test_the_first_dev_sentences_come_from_many_documents() -> None:
    raw = pages(40, 20)
    assert raw.documents is not None
    dev = split(raw, Data(dev_sentences=400, test_sentences=20)).parts["dev"]
    assert len({raw.documents[index] for index in dev[:20]}) > 5


def test_the_order_of_documents_plays_no_role() -> None:
    forward = pages(12, 4)
    backward = forward.select(range(47, -1, -1))
    asked = Data(dev_sentences=8, test_sentences=8)
    for part in ("dev", "test"):
        one = [forward.sources[index] for index in split(forward, asked).parts[part]]
        assert one == [backward.sources[index] for index in split(backward, asked).parts[part]]


# A limit of the training pairs


@pytest.mark.parametrize("raw", [numbered(60), pages(12, 5)], ids=["pairs", "documents"])
def test_a_limit_takes_a_nested_choice_of_the_training_pairs_and_leaves_dev_and_test_alone(raw: Pairs) -> None:
    whole, forty, ten = (
        split(raw, Data(dev_sentences=5, test_sentences=10, pairs_limit=limit)) for limit in (0, 40, 10)
    )
    assert [len(found.parts["train"]) for found in (whole, forty, ten)] == [45, 40, 10]
    assert set(ten.parts["train"]) < set(forty.parts["train"]) < set(whole.parts["train"])
    assert ten.parts["train"] == sorted(ten.parts["train"])
    assert ten.parts["train"] != whole.parts["train"][:10]
    for part in ("dev", "test"):
        assert whole.parts[part] == forty.parts[part] == ten.parts[part]
    assert {reason: len(left) for reason, left in ten.unused.items()} == {
        "beyond 10 training pairs (data.pairs_limit)": 35
    }
    assert not split(raw, Data(dev_sentences=5, test_sentences=10, pairs_limit=45)).unused


def test_the_choice_of_a_limit_depends_on_the_seed_and_on_no_order() -> None:
    def chosen(raw: Pairs, seed: int) -> set[str]:
        found = split(raw, Data(dev_sentences=1, test_sentences=1, pairs_limit=10, split_seed=seed))
        return {raw.sources[index] for index in found.parts["train"]}

    assert chosen(numbered(60), 1) == chosen(numbered(60).select(range(59, -1, -1)), 1) != chosen(numbered(60), 2)
