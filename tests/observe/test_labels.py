"""Labels of a small corpus: rarity with its ties, questions, trees; what has to be left out is counted."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.data.encoded import Encoded
from headcount.data.spans import NO_WORD, SpannedSubword
from headcount.data.subword import train_subword
from headcount.data.trees import Word
from headcount.errors import UserError
from headcount.observe.labels import label, source_frequencies
from headcount.vocabulary import EOS

TEXTS = ["what does the cat eat?", "the cat's tail", "why, the cat who sat?"]


@pytest.fixture(scope="module")
def subword(tmp_path_factory) -> SpannedSubword:
    folder = tmp_path_factory.mktemp("subword")
    (folder / "text").write_text("".join(f"{text}\n" for text in TEXTS * 3), encoding="utf-8")
    train_subword([folder / "text"], folder / "subword.model", vocabulary=45, character_coverage=1.0, seed=1)
    return SpannedSubword(folder / "subword.model")


def made(subword, texts=TEXTS, encoded=None, **changes):
    ids = subword.encode(texts)
    settings = {
        "frequencies": np.ones(subword.size, dtype=np.int64),
        "frequent": 0,
        "trees": [],
        "relations": ("nsubj", "dobj"),
        "interrogatives": ("who", "what", "why"),
        "question_marks": ("?",),
    }
    return label(encoded or Encoded.from_lists(ids, ids), texts, subword=subword, **{**settings, **changes})


def spelled(subword, text, flags):
    """Return the flagged pieces of one sentence, joined."""
    return "".join(piece for piece, flag in zip([*subword.pieces([text])[0], ""], flags, strict=True) if flag)


def sentence(labels, number):
    return slice(labels.starts[number], labels.starts[number + 1])


def test_questions_have_asking_pieces_and_their_last_mark(subword):
    labels = made(subword)
    assert spelled(subword, TEXTS[0], labels.asks[sentence(labels, 0)]) == "▁what"
    assert spelled(subword, TEXTS[0], labels.mark[sentence(labels, 0)]) == "?"
    assert spelled(subword, TEXTS[2], labels.asks[sentence(labels, 2)]) == "▁why▁who"
    assert labels.has(labels.asks).tolist() == labels.has(labels.mark).tolist() == [True, False, True]
    nothing = made(subword, interrogatives={"does"}, question_marks={"!"})
    assert not nothing.asks.any()
    chosen = made(subword, interrogatives={"tail"}, question_marks={"'"})
    assert not chosen.asks.any()  # it stands behind the mark
    assert made(subword, interrogatives={"cat"}, question_marks={"'"}).has(labels.asks).any()


def test_written_words_are_numbered_and_eos_belongs_to_none(subword):
    labels = made(subword)
    owners = labels.text_word[sentence(labels, 1)]
    words = [spelled(subword, TEXTS[1], owners == number) for number in range(owners.max() + 1)]
    assert words == ["▁the", "▁cat's", "▁tail"]
    assert owners[-1] == NO_WORD


def test_trees_give_words_and_pairs_and_what_is_missing_is_counted(subword):
    tree = (Word("the", 2, "det", "the"), Word("cat", 4, "nsubj", "cat"), Word("'s", 2, "case", "'s"))
    tail = Word("tail", 0, "root", "tail")
    labels = made(subword, trees=[(*tree, tail), (tail,)])
    assert labels.pairs.tolist() == [[1, 0, 3, 1]]
    assert labels.relations == ("nsubj", "dobj")
    assert labels.baselines[0] == 1.0
    assert np.isnan(labels.baselines[1])
    owners = labels.tree_word[sentence(labels, 1)]
    assert [spelled(subword, TEXTS[1], owners == number) for number in range(4)] == ["▁the", "▁cat", "'s", "▁tail"]
    assert (labels.tree_word[sentence(labels, 0)] == NO_WORD).all()
    assert labels.coverage == {
        "sentences": 3,
        "sentences without a tree": 2,
        "words of trees": 4,
        "words without a piece of their own": 0,
        "pairs in a relation": 1,
        "pairs left out for want of a piece": 0,
    }


def test_a_pair_of_a_word_without_a_piece_is_left_out_and_counted(subword):
    (pieces,) = subword.pieces([TEXTS[0]])
    assert "▁what" in pieces  # one piece, so that `at` below has none of its own
    tree = (
        Word("wh", 0, "root", "wh"),
        Word("at", 1, "nsubj", "at"),
        Word("doesthecateat?", 1, "dobj", "doesthecateat?"),
    )
    labels = made(subword, trees=[tree])
    assert labels.pairs.tolist() == [[0, 1, 0, 2]]
    assert labels.coverage["words without a piece of their own"] == 1
    assert labels.coverage["pairs left out for want of a piece"] == 1


def test_a_corpus_without_trees_has_no_pairs(subword):
    labels = made(subword)
    assert labels.pairs.shape == (0, 4)
    assert np.isnan(labels.baselines).all()
    assert labels.coverage["sentences without a tree"] == 3


@pytest.mark.parametrize(
    ("counts", "first", "second"),
    [
        ((9, 2, 5), {1}, {1, 2}),
        ((9, 2, 2), {1, 2}, {1, 2}),  # two least frequent pieces of one frequency
        ((9, 2, 9), {1}, {0, 1, 2}),  # the second rank is shared
        ((4, 4, 4), {0, 1, 2}, {0, 1, 2}),
    ],
)
def test_ties_are_all_least_frequent(subword, counts, first, second):
    (ids,) = subword.encode(["the cat tail"])
    assert len(ids) == 4
    frequencies = np.full(subword.size, 100, dtype=np.int64)
    frequencies[ids[:3]] = counts
    labels = made(subword, ["the cat tail"], frequencies=frequencies)
    assert [set(np.flatnonzero(flags)) for flags in labels.rare] == [first, second]


def test_every_occurrence_of_the_rarest_piece_counts(subword):
    (ids,) = subword.encode(["the cat the"])
    frequencies = np.full(subword.size, 100, dtype=np.int64)
    frequencies[ids[0]] = 3
    labels = made(subword, ["the cat the"], frequencies=frequencies)
    assert np.flatnonzero(labels.rare[0]).tolist() == [0, 2]
    assert np.flatnonzero(labels.rare[1]).tolist() == [0, 1, 2]


def test_a_sentence_of_frequent_pieces_has_no_rare_one(subword):
    (ids,) = subword.encode(["the cat tail"])
    frequencies = np.zeros(subword.size, dtype=np.int64)
    frequencies[ids[:3]] = 30, 20, 10
    for frequent, expected in ((2, True), (3, False), (10_000, False)):
        labels = made(subword, ["the cat tail"], frequencies=frequencies, frequent=frequent)
        assert labels.rare.any() == expected


def test_the_least_frequent_piece_is_never_eos(subword):
    frequencies = np.full(subword.size, 5, dtype=np.int64)
    frequencies[EOS] = 0
    labels = made(subword, frequencies=frequencies)
    assert not labels.rare[:, labels.starts[1:] - 1].any()


def test_frequencies_are_those_of_the_training_sources(tmp_path):
    Encoded.from_lists([[5, 5, 7, EOS], [7, EOS]], [[9, EOS], [9, EOS]]).save(tmp_path / "train.npz")
    counts = source_frequencies(tmp_path / "train.npz", 10)
    assert counts.tolist() == [0, 0, 0, 0, 0, 2, 0, 2, 0, 0]


def test_texts_of_another_corpus_are_refused(subword):
    ids = subword.encode(TEXTS)
    for texts in (TEXTS[::-1], TEXTS[:2]):
        with pytest.raises(UserError, match="are not those of the 3 encoded pairs"):
            made(subword, texts, encoded=Encoded.from_lists(ids, ids))
