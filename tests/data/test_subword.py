"""Subwords: impossible sizes are explained, text comes back unchanged, bytes depend on text and settings alone."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from headcount.data import subword
from headcount.data.subword import BOS, EOS, PAD, UNK, UNKNOWN_SURFACE, Subword, round_trip
from headcount.errors import UserError

LETTERS = "abcdefghijklmnoprstuvwxyzäöüß"


def written(folder: Path, lines: list[str], name: str = "train.source") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path


def train_subword(files: Sequence[Path], out: Path, vocabulary: int, coverage: float = 1.0) -> int:
    return subword.train_subword(files, out, vocabulary=vocabulary, character_coverage=coverage, seed=1)


def latin(lines: int, words: int = 3) -> list[str]:
    rng = random.Random(0)
    lexicon = ["".join(rng.choices(LETTERS, k=5)) for _ in range(400)]
    return [" ".join(rng.choices(lexicon, k=words)) for _ in range(lines)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Subword:
    folder = tmp_path_factory.mktemp("subword")
    train_subword([written(folder, latin(200))], folder / "subword.model", 120)
    return Subword(folder / "subword.model")


def test_too_large_a_vocabulary_names_the_largest(tmp_path: Path) -> None:
    path, out = written(tmp_path, latin(400)), tmp_path / "subword.model"
    with pytest.raises(
        UserError, match=r"subword\.vocabulary: 8000 is too large .* largest possible size is (\d+)"
    ) as e:
        train_subword([path], out, 8000)
    assert list(tmp_path.iterdir()) == [path]
    largest = int(str(e.value).rsplit(" ", 1)[1])
    assert train_subword([path], out, largest) == largest == Subword(out).size


def test_too_small_a_vocabulary_names_the_smallest(tmp_path: Path) -> None:
    path, out = written(tmp_path, latin(50)), tmp_path / "subword.model"
    with pytest.raises(UserError, match=r"subword\.vocabulary: 16 is too small: .* need (\d+)") as e:
        train_subword([path], out, 16)
    assert not out.exists()
    smallest = int(re.findall(r"\d+", str(e.value))[-1])
    assert train_subword([path], out, smallest) == smallest


def test_characters_beyond_the_coverage_are_unknown_and_leave_their_room(tmp_path: Path) -> None:
    rare = [chr(code) for code in range(0x4E00, 0x4E00 + 40)]
    path = written(tmp_path, [*latin(400), *rare])
    sizes = []
    for coverage in (1.0, 0.99):
        with pytest.raises(UserError, match=r"raise it, or lower subword\.character_coverage") as e:
            train_subword([path], tmp_path / "x.model", 16, coverage)
        sizes.append(int(re.findall(r"\d+", str(e.value))[-1]))
    assert sizes[0] - sizes[1] == len(rare)
    unknown = []
    for coverage in (1.0, 0.99):
        train_subword([path], tmp_path / "x.model", 150, coverage)
        unknown.append(round_trip(Subword(tmp_path / "x.model"), rare, 0)["unknown_pieces"])
    assert unknown == [0, len(rare)]


def test_long_lines_are_used_and_no_text_is_explained(tmp_path: Path) -> None:
    long = written(tmp_path, latin(3, words=2000))
    assert long.stat().st_size > 3 * 12_000
    assert train_subword([long], tmp_path / "long.model", 100) == 100
    for lines in ([], ["", ""]):
        with pytest.raises(UserError, match=r"no text to learn from: empty\.source"):
            train_subword([written(tmp_path, lines, "empty.source")], tmp_path / "subword.model", 100)
    assert not (tmp_path / "subword.model").exists()


def test_lines_that_would_be_skipped_are_refused_with_their_number(tmp_path: Path) -> None:
    path = written(tmp_path, ["short"] * 6 + ["x" * (1 << 20) + "x"] * 4)
    with pytest.raises(UserError, match=r"4 of 10 lines in train\.source are longer"):
        train_subword([path], tmp_path / "subword.model", 100)


def test_equal_text_gives_equal_bytes_wherever_it_lies(tmp_path: Path) -> None:
    models = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        files = [written(tmp_path / name, latin(60), f"{name}.source"), written(tmp_path / name, latin(30), "other")]
        train_subword(files, tmp_path / name / "subword.model", 90)
        models.append((tmp_path / name / "subword.model").read_bytes())
    assert models[0] == models[1]
    assert str(tmp_path).encode() not in models[0]


@given(text=st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=6).map(" ".join))
def test_known_characters_come_back_unchanged(model: Subword, text: str) -> None:
    (ids,) = model.encode([text])
    assert ids[-1] == EOS
    assert not {PAD, UNK, BOS, EOS} & set(ids[:-1])
    assert model.decode([ids]) == [text]


@given(text=st.text())
def test_text_never_becomes_a_control_id(model: Subword, text: str) -> None:
    for sentence in (text, f"</s>{text}<s> <pad> <unk>"):
        (ids,) = model.encode([sentence])
        assert not {PAD, BOS, EOS} & set(ids[:-1])


def test_decoding_stops_at_eos_and_drops_specials(model: Subword) -> None:
    (ids,) = model.encode(["abc de"])
    assert model.decode([[BOS, PAD, *ids, ids[0], EOS, ids[0]], [EOS], [], ids[:-1]]) == ["abc de", "", "", "abc de"]
    assert model.decode([[*model.encode(["ab"])[0][:-1], UNK]]) == [f"ab{UNKNOWN_SURFACE}"]


def test_strange_characters_are_reported_and_the_reference_stays_raw(model: Subword) -> None:
    strange = ["ab…", "ﬁ", "c²", "cafe\u0301", "a  b", "a\u2581b", "漢字", "</s>", "<unk>"]
    report = round_trip(model, [*strange, "abc"], 3)
    assert report["sentences"] == 10
    assert report["unknown_pieces"] >= 7
    changed = {text for text, back in zip(strange, model.decode(model.encode(strange)), strict=True) if text != back}
    assert report["changed_sentences"] == len(changed)
    assert "a  b" not in changed
    assert [text for text, _ in report["examples"]] == [text for text in strange if text in changed][:3]
    assert sacrebleu.corpus_bleu(strange, [strange]).score == pytest.approx(100)


def test_unreadable_and_foreign_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.model").write_bytes(b"half a model")
    for name in ("broken.model", "missing.model"):
        with pytest.raises(UserError, match=f"{name}: not a readable subword model"):
            Subword(tmp_path / name)
