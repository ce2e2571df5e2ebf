"""Every source reads exactly what the settings name, keeps pairs whole and says what it dropped."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.data.corpus import clean
from headcount.data.package import CACHE_VARIABLE
from headcount.data.sources import files, tatoeba
from headcount.data.text import Pairs
from headcount.errors import UserError
from headcount.registry import load, names
from headcount.settings import Data


def settings(**values: Any) -> Data:
    return Data.model_validate({"source": "files", "files": values})


def written(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def both(pairs: Pairs) -> list[tuple[str, str]]:
    return list(zip(pairs.sources, pairs.targets, strict=True))


@pytest.mark.parametrize("name", names("data.sources"))
def test_every_source_keeps_the_contract(name: str) -> None:
    module = load("data.sources", name)
    assert callable(module.read)
    assert callable(module.reachable)


# Two aligned files


def test_foreign_line_boundaries_do_not_move_the_sides(tmp_path: Path) -> None:
    source = written(tmp_path, "a", "s one\ns\u2028two\ns\u0085three\ns\x0bfour\ns five\n")
    target = written(tmp_path, "b", "t one\nt two\nt three\nt four\nt five\n")
    pairs = clean(files.read(settings(source=source, target=target)), Data())
    assert both(pairs)[1:] == [("s two", "t two"), ("s three", "t three"), ("s four", "t four"), ("s five", "t five")]
    assert {note.split()[0] for note in pairs.notes} == {"U+2028", "U+0085", "U+000B"}


def test_files_of_different_length_are_refused_with_both_counts(tmp_path: Path) -> None:
    source, target = written(tmp_path, "a.en", "x\ny\nz\n"), written(tmp_path, "a.de", "x\ny\n")
    with pytest.raises(UserError, match=r"a\.en has 3 lines but .*a\.de has 2"):
        files.read(settings(source=source, target=target))


def test_broken_bytes_cost_their_pair_only(tmp_path: Path) -> None:
    sources, targets = [b"word %d" % i for i in range(1, 201)], [b"wort %d" % i for i in range(1, 201)]
    sources[56], targets[119], targets[149] = b"wo\0rd", b"wort\0", b"ol\xe9"
    source, target = written(tmp_path, "a.en", b"\n".join(sources)), written(tmp_path, "a.de", b"\n".join(targets))
    pairs = files.read(settings(source=source, target=target))
    assert len(pairs) == 197
    assert not {57, 120, 150} & set(pairs.rows)
    assert all(s.split()[1] == t.split()[1] == str(row) for row, (s, t) in zip(pairs.rows, both(pairs), strict=True))
    assert pairs.dropped == {"NUL byte": 2, "invalid UTF-8": 1}
    assert pairs.examples == {
        "NUL byte": [
            "row 57: a.en, byte 0x00 at position 3 of the line",
            "row 120: a.de, byte 0x00 at position 5 of the line",
        ],
        "invalid UTF-8": ["row 150: a.de, byte 0xE9 at position 3 of the line"],
    }


def test_exactly_the_named_files_are_read(tmp_path: Path) -> None:
    for name in ("news.de-en.de.bak", "open.en.de-en.de", "open.en.de-en.en"):
        written(tmp_path, name, "other\n" * 7)
    source = written(tmp_path, "news.de-en.en", "english\n")
    target = written(tmp_path, "news.de-en.de", "deutsch\n")
    pairs = files.read(settings(source=source, target=target, licence="CC0", attribution="me"))
    assert both(pairs) == [("english", "deutsch")]
    assert (pairs.licence, pairs.attribution) == ("CC0", "me")
    assert pairs.origin["files"] == [
        {"file": source, "bytes": 8, "sha256": hashlib.sha256(b"english\n").hexdigest()},
        {"file": target, "bytes": 8, "sha256": hashlib.sha256(b"deutsch\n").hexdigest()},
    ]
    assert files.reachable(settings(source=source, target=target)) == f"{source} (8 bytes), {target} (8 bytes)"
    with pytest.raises(UserError, match=r"news\.\*: no such file"):
        files.read(settings(source=str(tmp_path / "news.*"), target=target))
    with pytest.raises(UserError, match="source and target are the same file"):
        files.reachable(settings(source=source, target=source))


def test_unreachable_files_are_told_before_the_first_job(tmp_path: Path) -> None:
    target = written(tmp_path, "news.de", "x\n")
    with pytest.raises(UserError, match=r"did you mean 'news\.de'"):
        files.reachable(settings(source=str(tmp_path / "news.dee"), target=target))
    with pytest.raises(UserError, match="the file is empty"):
        files.reachable(settings(source=written(tmp_path, "empty", ""), target=target))
    with pytest.raises(UserError, match=r"data\.files\.target: empty"):
        files.reachable(settings(source=target))


# One TSV


def test_only_whole_rows_of_a_tsv_are_kept(tmp_path: Path) -> None:
    rows = [f"s{i}\tt{i}" for i in range(1, 11)]
    rows[2], rows[4], rows[6], rows[8] = "s3\t", "s5\t \u00a0", "s7\tt7\tmore", "s9"
    pairs = clean(files.read(settings(tsv=written(tmp_path, "x.tsv", "\n".join(rows)))), Data())
    assert pairs.rows == [1, 2, 4, 6, 8, 10]
    assert both(pairs) == [(f"s{i}", f"t{i}") for i in pairs.rows]
    assert pairs.examples == {
        "not two columns": ["row 7: 3 columns", "row 9: 1 column"],
        "empty side": ["row 3: target", "row 5: target"],
    }


def test_windows_bytes_and_a_clean_copy_give_the_same_pairs(tmp_path: Path) -> None:
    windows = b"\xef\xbb\xbfa1\tb1\r\na2\tb2\r\na3\tb3\r\na4\tb4\na\r5\tb5\na6\tb6"
    plain = b"a1\tb1\na2\tb2\na3\tb3\na4\tb4\na 5\tb5\na6\tb6\n"
    pairs, copy = (
        clean(files.read(settings(tsv=written(tmp_path, name, content))), Data())
        for name, content in (("windows.tsv", windows), ("plain.tsv", plain))
    )
    assert both(pairs) == both(copy)
    assert len(pairs) == 6
    assert not any(set(text) & set("\ufeff\r") for pair in both(pairs) for text in pair)
    assert not copy.notes
    assert pairs.notes["CR before LF"] == 3
    assert pairs.notes["byte order mark at the start of a file"] == pairs.notes["U+000D control character"] == 1


# Tatoeba


def table(folder: Path, *rows: tuple[str, str]) -> Path:
    """Write a sentence table with the given English and German."""
    lines = [f"{i}\t日本語\t{en}\t-\t{de}\t-\t-\t-\t-" for i, (en, de) in enumerate(rows, start=1)]
    return Path(written(folder, "SENTENCES", "\n".join([*lines, "broken\trow", ""])))


def tatoeba_settings(**values: Any) -> Data:
    return Data.model_validate({"tatoeba": {"words": 0, "frequent_words": 0, **values}})


def test_missing_translations_and_broken_rows_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path, ("I see.", "Ich sehe."), ("Lost.", "-"), ("-", "Weg."), ("It's - well.", "Alles gut."))
    pairs = tatoeba.read_table(path, tatoeba_settings())
    assert both(pairs) == [("I see.", "Ich sehe."), ("It's - well.", "Alles gut.")]
    assert pairs.rows == [1, 4]
    assert pairs.dropped == {"no sentence in one of the languages": 2, "not 9 columns": 1}
    assert "Tatoeba" in pairs.attribution
    assert pairs.origin["sha256"] == tatoeba.PACKAGE.sha256
    assert str(tmp_path) not in str(pairs.origin)


def test_other_columns_are_other_languages(tmp_path: Path) -> None:
    asked = tatoeba_settings().model_copy(update={"source_language": "de", "target_language": "ja"})
    assert both(tatoeba.read_table(table(tmp_path, ("I see.", "Ich sehe.")), asked)) == [("Ich sehe.", "日本語")]


def test_short_pairs_of_common_words(tmp_path: Path) -> None:
    common = [(f"red {'dog ' * i}.", f"rot {'hund ' * i}.") for i in range(1, 5)]
    rare_source, rare_target = ("red zebra dog.", "rot rot hund."), ("red red dog dog.", "rot zebra hund.")
    path = table(tmp_path, *common, rare_source, rare_target)
    pairs = tatoeba.read_table(path, tatoeba_settings(frequent_words=3, words=5))
    assert pairs.rows == [1, 2, 3]
    assert pairs.dropped["more than 5 words (data.tatoeba.words)"] == 1
    assert pairs.dropped["a rare word (data.tatoeba.frequent_words)"] == 2
    assert len(tatoeba.read_table(path, tatoeba_settings(frequent_words=4, words=6))) == 6


@pytest.mark.parametrize(("source", "target"), [("ja", "en"), ("en", "ja")])
def test_a_japanese_side_is_limited_in_length_and_not_by_frequency(tmp_path: Path, source: str, target: str) -> None:
    rows = [
        ("red dog", "赤い犬"),
        ("dog red", "蒼鷺"),
        ("red heron", "赤い犬。"),
        ("red", "赤" * 11),
        ("dog", "犬" * 10),
    ]
    lines = [f"{i}\t{ja}\t{en}\t-\t-\t-\t-\t-\t-\n" for i, (en, ja) in enumerate(rows, start=1)]
    path = Path(written(tmp_path, "SENTENCES", "".join(lines)))
    values = {"source_language": source, "target_language": target, "length_ratio": 99}
    asked = Data.model_validate({"tatoeba": {"words": 5, "frequent_words": 2}, **values})
    pairs = tatoeba.read_table(path, asked)
    assert pairs.rows == [1, 2, 5]
    assert pairs.dropped == {
        "a rare word (data.tatoeba.frequent_words)": 1,
        "more than 5 words (data.tatoeba.words)": 1,
    }


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (
            {"target_language": "dee"},
            r"data\.target_language: tatoeba has no 'dee'; did you mean 'de'\?; allowed: ja, en",
        ),
        ({"source_language": "audio"}, r"data\.source_language: tatoeba has no 'audio'"),
        ({"source_language": "de"}, r"data\.target_language: 'de' is also the source language"),
    ],
)
def test_languages_are_checked_before_any_download(languages: dict[str, str], message: str) -> None:
    asked = Data.model_validate(languages)
    for call in (tatoeba.read, tatoeba.reachable):
        with pytest.raises(UserError, match=message):
            call(asked)


def test_reachable_tells_where_the_text_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tatoeba_settings(cache=str(tmp_path / "of settings"))
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert tatoeba.reachable(asked) == "will be downloaded (67 MB)"
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    archive = Path(written(tmp_path, tatoeba.PACKAGE.archive, "x"))
    assert tatoeba.reachable(asked) == f"will be taken from {archive}"
    with pytest.raises(UserError, match="has sha256"):
        tatoeba.read(asked)
    path = table(tmp_path, ("I see.", "Ich sehe.")).rename(tmp_path / tatoeba.PACKAGE.cached_name)
    hashed = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(tatoeba, "PACKAGE", replace(tatoeba.PACKAGE, member_sha256=hashed))
    assert tatoeba.reachable(asked) == f"cached in {path}"
    assert both(tatoeba.read(asked)) == [("I see.", "Ich sehe.")]
