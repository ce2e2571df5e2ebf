"""Encoded pairs as two ragged integer arrays in one uncompressed file."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UserError
from headcount.files import atomic_path

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]

_ARRAYS = ("source_tokens", "source_offsets", "target_tokens", "target_offsets")


@dataclass(frozen=True)
class Encoded:
    """Sentence i of a side is `tokens[offsets[i]:offsets[i + 1]]`; both sides end in EOS and hold no BOS."""

    source_tokens: Ids
    source_offsets: Offsets
    target_tokens: Ids
    target_offsets: Offsets

    @classmethod
    def from_lists(cls, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Encoded:
        """Pack id lists; the two sides must have the same number of sentences."""
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
        return cls(*_pack(sources), *_pack(targets))

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    def source(self, index: int) -> Ids:
        """Return the ids of source sentence `index`."""
        return self.source_tokens[self.source_offsets[index] : self.source_offsets[index + 1]]

    def target(self, index: int) -> Ids:
        """Return the ids of target sentence `index`."""
        return self.target_tokens[self.target_offsets[index] : self.target_offsets[index + 1]]

    @property
    def source_lengths(self) -> Offsets:
        """Pieces of each source, EOS included."""
        return np.diff(self.source_offsets)

    @property
    def target_lengths(self) -> Offsets:
        """Pieces of each target, EOS included."""
        return np.diff(self.target_offsets)

    def save(self, path: Path) -> None:
        """Write all four arrays in one step; equal content gives equal bytes."""
        with atomic_path(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, allow_pickle=False, **{name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: Path) -> Encoded:
        """Read a file written by `save`.

        Raises:
            UserError: the file is missing, truncated or of another kind.

        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                encoded = cls(*(arrays[name] for name in _ARRAYS))
        except FileNotFoundError:
            raise UserError(f"{path}: no such file; run `headcount prepare` first") from None
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
            raise UserError(f"{path}: not a complete file of encoded pairs; run `headcount prepare` again") from None
        encoded._check(path)
        return encoded

    def _check(self, path: Path) -> None:
        sides = ((self.source_tokens, self.source_offsets), (self.target_tokens, self.target_offsets))
        for tokens, offsets in sides:
            if offsets[0] != 0 or offsets[-1] != len(tokens) or len(offsets) != len(self.source_offsets):
                raise UserError(f"{path}: the offsets do not fit the tokens; run `headcount prepare` again")


def _pack(sentences: Sequence[Sequence[int]]) -> tuple[Ids, Offsets]:
    offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
    np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
    tokens = np.fromiter((i for sentence in sentences for i in sentence), dtype=np.int32, count=int(offsets[-1]))
    return tokens, offsets
