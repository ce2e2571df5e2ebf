"""Sentence pairs of the LibreOffice help: paragraphs share their ids in all languages; a document is a page."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headcount.data.debian import Deb, apt_download, fetch, tar_of
from headcount.data.debian import reachable as packages_reachable
from headcount.data.package import cache_folder
from headcount.data.paragraphs import paragraphs
from headcount.data.sentences import aligned_sentences
from headcount.data.text import Drops, Pairs
from headcount.errors import UserError
from headcount.registry import nearest

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data

Pages = dict[str, dict[str, list[str]]]
"""Path of a page below its language's folder -> paragraph id -> texts."""

_PAGE = re.compile(r"(?:\./)?usr/share/libreoffice/help/[^/]+/text/(.+\.html)")
_LANGUAGES = (
    "en ca cs da de dz el en-gb es et eu fi fr gl hi hu id it ja km ko nl om pl pt pt-br ru sk sl sv tr vi zh-cn zh-tw"
)
"""Languages of Debian's packages; `en` is en-us, the original."""


def read(settings: Data) -> Pairs:
    """Fetch the two packages when needed and return the sentence pairs of their pages.

    Raises:
        UserError: an unknown language, or packages that cannot be had or unpacked here.

    """
    debs = fetch(_packages(settings), cache_folder(settings.libreoffice.cache), apt_download)
    source, target = (read_pages(tar_of(deb)) for deb in debs)
    return align(source, target, debs)


def reachable(settings: Data) -> str:
    """Return whether the packages are in the cache or will be downloaded, without downloading them."""
    return packages_reachable(_packages(settings), cache_folder(settings.libreoffice.cache))


def read_pages(archive: bytes) -> Pages:
    """Read every help page of a package's tar archive."""
    pages: Pages = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        for member in tar:
            if (found := _PAGE.fullmatch(member.name)) and (file := tar.extractfile(member)):
                pages[found[1]] = paragraphs(file.read().decode("utf-8", errors="replace"))
    return pages


def align(source: Pages, target: Pages, debs: list[Deb]) -> Pairs:
    """Pair the paragraphs with the same page and id and split them into sentences; rows number the source paragraphs.

    Raises:
        UserError: no page has both languages.

    """
    drops = Drops()
    rows: list[int] = []
    documents: list[str] = []
    pairs: list[tuple[str, str]] = []
    for row, (page, name, texts) in enumerate(_in_order(source), start=1):
        others = target.get(page, {}).get(name, [])
        if len(others) != len(texts):
            drops.add("no such paragraph in the target language", row, f"{page}#{name}")
            continue
        for text, other in zip(texts, others, strict=True):
            found = aligned_sentences(text, other)
            pairs += found
            rows += [row] * len(found)
            documents += [page] * len(found)
    if not pairs:
        raise UserError(f"{', '.join(str(deb.path) for deb in debs)}: no help page with text in both languages")
    return Pairs(
        name="libreoffice",
        sources=[text for text, _ in pairs],
        targets=[text for _, text in pairs],
        rows=rows,
        licence="MPL-2.0",
        attribution="LibreOffice contributors, the LibreOffice help, MPL-2.0; packages of Debian",
        origin={
            "packages": [
                {"package": deb.name, "version": deb.version, "file": deb.path.name, "sha256": deb.sha256}
                for deb in debs
            ]
        },
        drops=drops,
        documents=documents,
    )


def _in_order(pages: Mapping[str, Mapping[str, list[str]]]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield page, paragraph id and texts; pages by name, since the order in an archive is no property of the text."""
    for page in sorted(pages):
        for name, texts in pages[page].items():
            yield page, name, texts


def _packages(settings: Data) -> list[str]:
    languages = {"source_language": settings.source_language, "target_language": settings.target_language}
    allowed = _LANGUAGES.split()
    for key, language in languages.items():
        if language not in allowed:
            hint = nearest(language, allowed)
            raise UserError(f"data.{key}: libreoffice has no {language!r}{hint}; allowed: {', '.join(allowed)}")
    if settings.source_language == settings.target_language:
        raise UserError(f"data.target_language: {settings.target_language!r} is also the source language")
    return [f"libreoffice-help-{'en-us' if language == 'en' else language}" for language in languages.values()]
