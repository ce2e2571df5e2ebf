"""The LibreOffice help: paragraphs meet by page and id, sentences stay aligned, pages are documents."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from headcount.config import parse
from headcount.data import debian
from headcount.data.corpus import clean
from headcount.data.debian import Deb
from headcount.data.package import CACHE_VARIABLE
from headcount.data.prepare import prepare
from headcount.data.sources import libreoffice
from headcount.errors import UserError
from headcount.settings import Data
from needs import needs

ENGLISH = {
    "shared/b.html": {"hd_id1": ["Paper"], "par_id2": ["Choose a size. Click OK."], "par_id3": ["Untranslated text."]},
    "shared/a.html": {"par_id1": ["The page is long."], "par_id9": ["Only here."]},
}
GERMAN = {
    "shared/a.html": {"par_id1": ["Die Seite wird lang."]},
    "shared/b.html": {
        "hd_id1": ["Papier"],
        "par_id2": ["Größe wählen. Danach klicken."],
        "par_id3": ["Untranslated text."],
    },
    "shared/c.html": {"par_id1": ["Nur hier."]},
}


def page(texts: dict[str, list[str]]) -> bytes:
    body = "".join(f'<p id="{name}">{text}</p>' for name, found in texts.items() for text in found)
    return f"<html><body>{body}</body></html>".encode()


def settings(**values: Any) -> Data:
    return Data.model_validate({"source": "libreoffice", **values})


def debs(folder: Path) -> list[Deb]:
    paths = [folder / f"libreoffice-help-{name}_4%3a7.4-1+deb12u14_all.deb" for name in ("en-us", "de")]
    for path in paths:
        path.write_bytes(path.name.encode())
    return [Deb(path) for path in paths]


def test_paragraphs_meet_by_page_and_id(tmp_path: Path) -> None:
    pairs = libreoffice.align(ENGLISH, GERMAN, debs(tmp_path))
    assert list(zip(pairs.sources, pairs.targets, strict=True)) == [
        ("The page is long.", "Die Seite wird lang."),
        ("Paper", "Papier"),
        ("Choose a size.", "Größe wählen."),
        ("Click OK.", "Danach klicken."),
        ("Untranslated text.", "Untranslated text."),
    ]
    assert pairs.documents == ["shared/a.html", *["shared/b.html"] * 4]
    assert pairs.rows == [1, 3, 4, 4, 5]
    assert pairs.dropped == {"no such paragraph in the target language": 1}
    assert pairs.examples["no such paragraph in the target language"] == ["row 2: shared/a.html#par_id9"]
    assert clean(pairs, Data()).dropped["source equals target"] == 1


def test_where_the_text_comes_from_is_recorded(tmp_path: Path) -> None:
    pairs = libreoffice.align(ENGLISH, GERMAN, debs(tmp_path))
    assert pairs.licence == "MPL-2.0"
    name = "libreoffice-help-de_4%3a7.4-1+deb12u14_all.deb"
    assert pairs.origin["packages"][1] == {
        "package": "libreoffice-help-de",
        "version": "4:7.4-1+deb12u14",
        "file": name,
        "sha256": hashlib.sha256(name.encode()).hexdigest(),
    }
    assert str(tmp_path) not in str(pairs.origin)


def test_an_id_that_is_repeated_in_one_language_only_is_left_out(tmp_path: Path) -> None:
    source = {"a.html": {"par_id1": ["One.", "Two."], "par_id2": ["Three."]}}
    target = {"a.html": {"par_id1": ["Eins."], "par_id2": ["Drei."]}}
    pairs = libreoffice.align(source, target, debs(tmp_path))
    assert (pairs.sources, pairs.targets) == (["Three."], ["Drei."])
    with pytest.raises(UserError, match=r"help-en-us_.*, .*help-de_.*: no help page with text in both languages"):
        libreoffice.align(ENGLISH, {}, debs(tmp_path))


def test_only_help_pages_of_an_archive_are_read() -> None:
    root = "./usr/share/libreoffice/help"
    files = {
        f"{root}/pt-BR/text/swriter/01/a.html": page({"par_id1": ["Olá &amp; tchau"]}),
        f"{root}/pt-BR/noscript.html": page({"par_id2": ["no"]}),
        f"{root}/media/text.html": page({"par_id3": ["no"]}),
        f"{root}/pt-BR/text/b.js": b"no",
        "./usr/share/doc/x/text/c.html": page({"par_id4": ["no"]}),
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        tar.addfile(tarfile.TarInfo(f"{root}/pt-BR/text/link.html"))
    found = libreoffice.read_pages(buffer.getvalue())
    assert found.pop("link.html") == {}
    assert found == {"swriter/01/a.html": {"par_id1": ["Olá & tchau"]}}


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (
            {"target_language": "dee"},
            r"data\.target_language: libreoffice has no 'dee'; did you mean 'de'\?; allowed: en,",
        ),
        ({"source_language": "ro"}, r"data\.source_language: libreoffice has no 'ro'"),
        ({"source_language": "de"}, r"data\.target_language: 'de' is also the source language"),
    ],
)
def test_languages_are_checked_before_any_download(languages: dict[str, str], message: str) -> None:
    asked = settings(**languages)
    for call in (libreoffice.read, libreoffice.reachable):
        with pytest.raises(UserError, match=message):
            call(asked)


def test_each_language_is_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(libreoffice, "packages_reachable", lambda names, cache: seen.append(names) or str(cache))
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    asked = settings(source_language="tr", target_language="en", libreoffice={"cache": str(tmp_path)})
    assert libreoffice.reachable(asked) == str(tmp_path)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "other"))
    assert libreoffice.reachable(settings(target_language="pt-br")) == str(tmp_path / "other")
    assert seen == [
        ["libreoffice-help-tr", "libreoffice-help-en-us"],
        ["libreoffice-help-en-us", "libreoffice-help-pt-br"],
    ]


def test_from_packages_to_a_prepared_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real packages with a few pages, in the cache folder: no network is used."""
    needs("dpkg-deb")
    nouns = ["page", "table", "chart", "note", "field", "frame"]
    for suffix, folder, frame in (
        ("en-us", "en-US", "Insert a {} here. Delete the {} {}."),
        ("de", "de", "{} einfügen. {} {} löschen."),
    ):
        tree = tmp_path / suffix
        for noun in nouns:
            path = tree / f"usr/share/libreoffice/help/{folder}/text/shared/{noun}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            word = noun if suffix == "en-us" else noun.upper()
            path.write_bytes(page({f"par_id{i}": [frame.format(word + "xyz"[i], word, i)] for i in range(3)}))
        (tree / "DEBIAN").mkdir()
        control = (
            f"Package: libreoffice-help-{suffix}\nVersion: 1\nArchitecture: all\nMaintainer: x <x@y>\nDescription: x\n"
        )
        (tree / "DEBIAN" / "control").write_text(control)
        command = [
            "dpkg-deb",
            "-b",
            "--root-owner-group",
            str(tree),
            str(tmp_path / f"libreoffice-help-{suffix}_1_all.deb"),
        ]
        subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(debian, "_run", lambda *_: pytest.fail("nothing is to be downloaded"))
    data = {"source": "libreoffice", "dev_sentences": 6, "test_sentences": 6}
    manifest = prepare(parse({"data": data, "subword": {"vocabulary": 70}}), tmp_path / "out")
    assert manifest["pairs"] == 36
    assert manifest["split"]["components"] == len(nouns)
    assert [package["version"] for package in manifest["origin"]["packages"]] == ["1", "1"]
