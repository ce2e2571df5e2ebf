"""Ragged arrays come back from disk as they were; incomplete files are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.encoded import Encoded
from headcount.errors import UserError

ids = st.lists(st.integers(0, 50_000), max_size=6)


@given(pairs=st.lists(st.tuples(ids, ids), max_size=6))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[list[int], list[int]]]) -> None:
    path = tmp_path_factory.mktemp("encoded") / "part.npz"
    encoded = Encoded.from_lists([source for source, _ in pairs], [target for _, target in pairs])
    encoded.save(path)
    loaded = Encoded.load(path)
    assert len(loaded) == len(encoded) == len(pairs)
    assert [(loaded.source(i).tolist(), loaded.target(i).tolist()) for i in range(len(loaded))] == pairs
    assert loaded.source_lengths.tolist() == [len(source) for source, _ in pairs]
    assert loaded.target_lengths.tolist() == [len(target) for _, target in pairs]
    assert loaded.source_tokens.dtype == loaded.target_tokens.dtype == np.int32


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    encoded = Encoded.from_lists([[4, 3], [5, 3]], [[6, 3], [3]])
    encoded.save(tmp_path / "a.npz")
    encoded.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_sides_of_different_length_are_a_bug() -> None:
    with pytest.raises(ValueError, match="2 sources but 1 targets"):
        Encoded.from_lists([[3], [3]], [[3]])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "train.npz"
    Encoded.from_lists([[4] * 50] * 50, [[5] * 50] * 50).save(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(UserError, match=r"train\.npz: not a complete file"):
        Encoded.load(path)


def test_missing_and_foreign_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file; run `headcount prepare`"):
        Encoded.load(tmp_path / "train.npz")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(UserError, match="not a complete file"):
        Encoded.load(tmp_path / "other.npz")
    zero = np.zeros(1, dtype=np.int64)
    Encoded(np.ones(5, dtype=np.int32), zero, np.ones(0, dtype=np.int32), zero).save(tmp_path / "odd.npz")
    with pytest.raises(UserError, match="the offsets do not fit"):
        Encoded.load(tmp_path / "odd.npz")
