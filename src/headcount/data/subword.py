"""Joint SentencePiece BPE: lossless on clean text, the same bytes on every machine, clear about impossible sizes."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sentencepiece

from headcount.errors import UserError
from headcount.files import atomic_write
from headcount.vocabulary import BOS, EOS, PAD, UNK

__all__ = ["BOS", "EOS", "PAD", "UNK", "Subword", "round_trip", "train_subword"]

UNKNOWN_SURFACE = "\u2047"
"""What an unknown piece looks like after decoding, without the spaces that SentencePiece puts around it."""

_LONGEST_LINE = 1 << 20
"""Bytes; SentencePiece silently skips lines of more than 4,192 unless told otherwise."""


def train_subword(files: Sequence[Path], out: Path, *, vocabulary: int, character_coverage: float, seed: int) -> int:
    """Learn BPE over all lines of `files` together and write the model to `out`; return its number of pieces.

    One thread, every line, no sampling and no file name inside: equal text gives equal bytes anywhere. Nothing is
    normalised, so decoding gives back what was encoded, if `character_coverage` is 1.

    Raises:
        UserError: nothing to learn from, or `subword.vocabulary` is out of reach; the message gives the limit.

    """
    lines = [line for path in files for line in _lines(path)]
    names = ", ".join(path.name for path in files)
    if not lines:
        raise UserError(f"subword: no text to learn from: {names or 'no file'} holds no sentence")
    if too_long := sum(len(line.encode()) > _LONGEST_LINE for line in lines):
        raise UserError(f"subword: {too_long} of {len(lines)} lines in {names} are longer than {_LONGEST_LINE:,} bytes")
    sentencepiece.set_random_generator_seed(seed % 2**32)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocabulary,
            character_coverage=character_coverage,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=_LONGEST_LINE,
            input_sentence_size=0,
            shuffle_input_sentence=False,
            num_threads=1,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface=UNKNOWN_SURFACE,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise UserError(_explain(str(error), vocabulary, lines)) from None
    atomic_write(out, model.getvalue())
    return Subword(out).size


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as handle:
        yield from (text for line in handle if (text := line.rstrip("\n")))


def _explain(message: str, vocabulary: int, lines: list[str]) -> str:
    """Put SentencePiece's internal assertion in the words of the config."""
    if found := re.search(r"too high \(\d+\).*<= (\d+)", message):
        return (
            f"subword.vocabulary: {vocabulary} is too large for {len(lines):,} lines of text; "
            f"the largest possible size is {found[1]}"
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return (
            f"subword.vocabulary: {vocabulary} is too small: the characters of the text and the special pieces alone "
            f"need {found[1]}; raise it, or lower subword.character_coverage"
        )
    return f"subword.vocabulary: {vocabulary}: SentencePiece failed: {message}"


class Subword:
    """A trained model: sentences to ids and back."""

    def __init__(self, path: Path) -> None:
        try:
            self._model: Any = sentencepiece.SentencePieceProcessor(model_file=str(path), num_threads=1)
        except (OSError, RuntimeError):
            raise UserError(f"{path}: not a readable subword model; run `headcount prepare` again") from None
        found = (self._model.pad_id(), self._model.unk_id(), self._model.bos_id(), self._model.eos_id())
        if found != (PAD, UNK, BOS, EOS):
            raise UserError(f"{path}: its special ids are {found}, expected {(PAD, UNK, BOS, EOS)}")

    @property
    def size(self) -> int:
        """Number of pieces, specials included."""
        return int(self._model.get_piece_size())

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, EOS at the end; text such as `</s>` stays text."""
        return [[*ids, EOS] for ids in self._model.encode(list(sentences), out_type=int)]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each id list up to its first EOS, PAD and BOS left out."""
        texts = []
        for sentence in ids:
            pieces = [int(piece) for piece in sentence]
            end = pieces.index(EOS) if EOS in pieces else len(pieces)
            texts.append(self._model.decode([piece for piece in pieces[:end] if piece not in (PAD, BOS)]))
        return texts


def round_trip(subword: Subword, sentences: Sequence[str], examples: int) -> dict[str, Any]:
    """Report what encoding and decoding does to sentences: changed ones, unknown pieces, pieces per sentence."""
    encoded = subword.encode(sentences)
    changed = [[text, back] for text, back in zip(sentences, subword.decode(encoded), strict=True) if text != back]
    pieces = Counter(piece for ids in encoded for piece in ids)
    return {
        "sentences": len(encoded),
        "pieces": sum(pieces.values()),
        "unknown_pieces": pieces[UNK],
        "changed_sentences": len(changed),
        "examples": changed[:examples],
    }
