"""Pieces and words in the raw text: every piece has the right owner, whatever the spaces and unknown characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.spans import NO_WORD, SpannedSubword, owners, piece_begins, token_spans, tree_spans, word_spans
from headcount.data.subword import train_subword
from headcount.data.trees import Word, squeezed

TEXTS = ["the cat sat on the mat", "a well-known cat's hat", "don't sit on that mat, cat!"]


@pytest.fixture(scope="module")
def subword(tmp_path_factory: pytest.TempPathFactory) -> SpannedSubword:
    folder = tmp_path_factory.mktemp("subword")
    (folder / "text").write_text("".join(f"{text}\n" for text in TEXTS * 5), encoding="utf-8")
    train_subword([folder / "text"], folder / "subword.model", vocabulary=60, character_coverage=1.0, seed=1)
    return SpannedSubword(folder / "subword.model")


def tree(*surfaces: str) -> tuple[Word, ...]:
    return tuple(Word(surface or "covered", 0, "root", surface) for surface in surfaces)


@given(st.text("atcsm 'é日?-▁", min_size=1, max_size=20))
def test_pieces_are_the_characters_of_the_sentence_one_by_one(subword: SpannedSubword, text: str):
    (pieces,) = subword.pieces([text])
    begins = piece_begins(pieces).tolist()
    assert len(pieces) + 1 == len(subword.encode([text])[0])  # EOS
    assert begins == sorted(begins)
    ends = [*begins[1:], len(text)]
    assert "".join(text[b:e] for b, e in zip(begins, ends, strict=True)) == text
    for piece, begin, end in zip(pieces, begins, ends, strict=True):
        assert piece.replace("▁", " ").endswith(text[begin:end].replace("▁", " "))


@given(st.text("atcsm 'é日?-", min_size=1, max_size=20), st.data())
def test_a_piece_belongs_to_the_word_of_its_first_character(subword: SpannedSubword, text: str, data):
    (pieces,) = subword.pieces([text])
    begins = piece_begins(pieces)
    solid = squeezed(text)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(solid) - 1)))))
    surfaces = [solid[a:b] for a, b in zip([0, *cuts], [*cuts, len(solid)], strict=True)]
    spans = tree_spans(tree(*surfaces), text)
    word_of = {
        place: number for number, (b, e) in enumerate(spans) for place in range(b, e) if not text[place].isspace()
    }
    assert sorted(word_of) == [place for place, character in enumerate(text) if not character.isspace()]
    assert [squeezed(text[b:e]) for b, e in spans] == surfaces
    for begin, owner in zip(begins.tolist(), owners(text, begins, spans).tolist(), strict=True):
        first = next((place for place in range(begin, len(text)) if not text[place].isspace()), None)
        assert owner == (NO_WORD if first is None else word_of[first])


def test_a_piece_across_two_words_belongs_to_the_first_and_leaves_the_other_without():
    text = "cannot go"
    spans = tree_spans(tree("can", "not", "go"), text)
    assert spans == [(0, 3), (3, 6), (7, 9)]
    begins = piece_begins(["▁cannot", "▁go"])
    assert owners(text, begins, spans).tolist() == [0, 2]


def test_a_lone_space_belongs_to_the_word_behind_it_and_the_last_one_to_none():
    text = "a  b "
    begins = piece_begins(["▁a", "▁", "▁", "b", "▁"])
    assert owners(text, begins, tree_spans(tree("a", "b"), text)).tolist() == [0, 1, 1, 1, NO_WORD]


def test_a_word_that_covers_nothing_owns_nothing():
    text = "im Haus"
    spans = tree_spans(tree("im", "", "Haus"), text)
    assert spans == [(0, 2), (0, 0), (3, 7)]
    assert owners(text, piece_begins(["▁i", "m", "▁Haus"]), spans).tolist() == [0, 0, 2]


def test_a_tree_of_another_text_is_refused():
    with pytest.raises(ValueError, match="not of"):
        tree_spans(tree("cat"), "mat")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's a well-known dog.", ["It's", "a", "well-known", "dog", "."]),
        ("“Why?!” (he) said", ["“", "Why", "?", "!", "”", "(", "he", ")", "said"]),
        ("... 3.14 $5", [".", ".", ".", "3.14", "$", "5"]),
        ("日本語、dog-cat。 U.S.", ["日", "本", "語", "、", "dog-cat", "。", "U.S", "."]),
        ("हिन्दी में", ["हिन्दी", "में"]),
    ],
)
def test_written_words_keep_hyphens_and_apostrophes(text: str, words: list[str]):
    assert [text[begin:end] for begin, end in word_spans(text)] == words


@given(st.text(max_size=30))
def test_words_and_tokens_cover_every_character_but_spaces_once(text: str):
    for spans in (word_spans(text), token_spans(text)):
        covered = [place for begin, end in spans for place in range(begin, end)]
        assert covered == [place for place, character in enumerate(text) if not character.isspace()]


def test_names_are_the_pieces_by_id(subword: SpannedSubword):
    (ids,), (pieces,) = subword.encode(["the cat"]), subword.pieces(["the cat"])
    assert [subword.names[piece] for piece in ids] == [*pieces, "</s>"]
