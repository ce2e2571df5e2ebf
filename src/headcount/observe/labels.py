"""What a corpus says of each source piece: its word, its rarity, its part in a question, and its sentence's tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from headcount.data.encoded import Encoded
from headcount.data.spans import NO_WORD, SpannedSubword, owners, piece_begins, token_spans, tree_spans, word_spans
from headcount.data.trees import Tree, best_fixed_offset, find_trees, offsets
from headcount.errors import UserError
from headcount.vocabulary import EOS

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Labels:
    """Labels of the source pieces of all sentences, one behind the other as in `Encoded.source_tokens`, and of pairs.

    Attributes:
        starts: [sentence + 1] where the pieces of each sentence begin.
        tree_word: [piece] number of the piece's word in the tree, from 0; `NO_WORD` without a tree and at EOS.
        text_word: [piece] the same for the written words of the sentence.
        rare: [2, piece] the piece is the least frequent of its sentence, or one of the two least frequent; False
            throughout a sentence without a piece that is rare enough.
        asks: [piece] it belongs to an interrogative word of a question.
        mark: [piece] it belongs to the last question mark of its sentence.
        pairs: [pair, 4] sentence, relation, head and dependent by their numbers, in the order of the sentences.
        relations: their names.
        baselines: [relation] share of the best fixed offset.
        coverage: what was found and what had to be left out, by name.

    """

    starts: Integers
    tree_word: Integers
    text_word: Integers
    rare: Flags
    asks: Flags
    mark: Flags
    pairs: Integers
    relations: tuple[str, ...]
    baselines: Floats
    coverage: dict[str, int]

    def has(self, flags: Flags) -> Flags:
        """Tell which sentences have a piece with the flag, [sentence]."""
        return np.logical_or.reduceat(flags, self.starts[:-1])


def label(
    corpus: Encoded,
    texts: Sequence[str],
    *,
    subword: SpannedSubword,
    frequencies: Integers,
    frequent: int,
    trees: Sequence[Tree],
    relations: Sequence[str],
    interrogatives: Collection[str],
    question_marks: Collection[str],
) -> Labels:
    """Label the source side of a corpus.

    Args:
        corpus: encoded pairs.
        texts: their raw source sentences.
        subword: the model that encoded them.
        frequencies: [piece id] how often each piece occurs in the training sources.
        frequent: a sentence counts as one with a rare piece when its least frequent piece is not among this many most
            frequent ones.
        trees: of any sentences in any order; none for a corpus without trees.
        relations: canonical names of the relations that make pairs.
        interrogatives: case-folded words.
        question_marks: single characters.

    Raises:
        UserError: the texts are not those of the corpus.

    """
    _check(corpus, subword.encode(texts))
    begins = [piece_begins(pieces) for pieces in subword.pieces(texts)]
    found = find_trees(trees, texts)
    tree_words, sizes = [], []
    for text, starts, tree in zip(texts, begins, found, strict=True):
        spans = tree_spans(tree, text) if tree else []
        tree_words.append(owners(text, starts, spans))
        sizes.append(len(spans))
    written = [owners(text, starts, word_spans(text)) for text, starts in zip(texts, begins, strict=True)]
    questions = [
        _question(text, starts, interrogatives, question_marks) for text, starts in zip(texts, begins, strict=True)
    ]
    pairs, left_out = _pairs(found, tree_words, relations)
    with_piece = sum(len(set(words[words != NO_WORD].tolist())) for words in tree_words)
    counts = offsets(tree for tree in found if tree)
    return Labels(
        starts=corpus.source_offsets.astype(np.int64),
        tree_word=_with_eos(tree_words, NO_WORD),
        text_word=_with_eos(written, NO_WORD),
        rare=_rare(corpus, frequencies, frequent),
        asks=_with_eos([asks for asks, _ in questions], False),
        mark=_with_eos([mark for _, mark in questions], False),
        pairs=pairs,
        relations=tuple(relations),
        baselines=np.array([best_fixed_offset(counts, relation) for relation in relations], dtype=np.float64),
        coverage={
            "sentences": len(texts),
            "sentences without a tree": sum(tree is None for tree in found),
            "words of trees": sum(sizes),
            "words without a piece of their own": sum(sizes) - with_piece,
            "pairs in a relation": len(pairs),
            "pairs left out for want of a piece": left_out,
        },
    )


def source_frequencies(train: Path, vocabulary: int) -> Integers:
    """Count each piece on the source side of the encoded training pairs, [piece id]; EOS counts as absent."""
    counts = np.bincount(Encoded.load(train).source_tokens, minlength=vocabulary).astype(np.int64)
    counts[EOS] = 0
    return counts


def _check(corpus: Encoded, encoded: list[list[int]]) -> None:
    if [piece for sentence in encoded for piece in sentence] != corpus.source_tokens.tolist():
        raise UserError(
            f"the {len(encoded):,} source sentences are not those of the {len(corpus):,} encoded pairs; "
            f"run `headcount prepare` again"
        )


def _with_eos(sentences: Sequence[npt.NDArray[Scalar]], at_eos: int | bool) -> npt.NDArray[Scalar]:
    """Join the labels of all sentences, with one more at the EOS of each."""
    return np.concatenate([np.append(labels, labels.dtype.type(at_eos)) for labels in sentences])


def _pairs(
    trees: Sequence[Tree | None], tree_words: Sequence[Integers], relations: Sequence[str]
) -> tuple[Integers, int]:
    """Return the pairs whose two words have pieces, [pair, 4], and how many had to be left out."""
    numbers = {relation: number for number, relation in enumerate(relations)}
    pairs: list[tuple[int, int, int, int]] = []
    left_out = 0
    for sentence, (tree, owned) in enumerate(zip(trees, tree_words, strict=True)):
        present = set(owned.tolist())
        for dependent, word in enumerate(tree or ()):
            if word.relation not in numbers or not word.head:
                continue
            if word.head - 1 in present and dependent in present:
                pairs.append((sentence, numbers[word.relation], word.head - 1, dependent))
            else:
                left_out += 1
    return np.array(pairs, dtype=np.int64).reshape(-1, 4), left_out


def _question(
    text: str, begins: Integers, interrogatives: Collection[str], question_marks: Collection[str]
) -> tuple[Flags, Flags]:
    """Flag the pieces of interrogative words before the last question mark, and those of that mark, [piece] each."""
    tokens = token_spans(text)
    marks = [number for number, (begin, end) in enumerate(tokens) if text[begin:end] in question_marks]
    if not marks:
        nothing = np.zeros(len(begins), dtype=np.bool_)
        return nothing, nothing
    asking = [
        number
        for number, (begin, end) in enumerate(tokens[: marks[-1]])
        if text[begin:end].casefold() in interrogatives
    ]
    owned = owners(text, begins, tokens)
    return np.isin(owned, asking), owned == marks[-1]


def _rare(corpus: Encoded, frequencies: Integers, frequent: int) -> Flags:
    """Flag the least frequent piece and the two least frequent ones, [2, piece]; ties are flagged alike."""
    rank = np.empty(len(frequencies), dtype=np.int64)
    rank[np.lexsort((np.arange(len(frequencies)), -frequencies))] = np.arange(len(frequencies))
    flags = np.zeros((2, len(corpus.source_tokens)), dtype=np.bool_)
    for sentence in range(len(corpus)):
        words = corpus.source(sentence)[:-1]  # without EOS
        if not len(words) or rank[words].max() < frequent:
            continue
        lowest = np.sort(frequencies[np.unique(words)])[:2]
        first = corpus.source_offsets[sentence]
        for number, limit in enumerate((lowest[0], lowest[-1])):
            flags[number, first : first + len(words)] = frequencies[words] <= limit
    return flags
