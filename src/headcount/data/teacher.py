"""Training targets made by a teacher: a trained model of the study, or the rule-based system Apertium.

Only the targets of the training pairs change: dev and test stay what people wrote (teacher and student, behnke2020).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from headcount.data.text import Pairs, read_lines, tidy
from headcount.errors import UserError
from headcount.vocabulary import APERTIUM, APERTIUM_DIRECTIONS

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data


@dataclass(frozen=True)
class Translations:
    """What a model made of the training sources of its own corpus, line by line."""

    run: str
    beam: int
    sources: Path
    targets: Path

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the four values as the rule hands them over."""
        given = json.loads(text)
        return cls(given["run"], given["beam"], Path(given["sources"]), Path(given["targets"]))


def teach(train: Pairs, settings: Data, translations: Translations | None) -> tuple[Pairs, dict[str, Any]]:
    """Put the teacher's translations in the place of the targets; return the pairs and what the manifest says of it.

    A pair whose translation is empty is dropped and counted in the drops of the corpus. Word links go: they are those
    of the targets that go.

    Raises:
        UserError: the teacher translated another text or left lines out, or Apertium cannot be used.

    """
    if settings.teacher == APERTIUM:
        made, by = translate(train.sources, settings), _versions(settings)
    elif translations is not None:
        made = _of_model(train.sources, translations)
        by = {"corpus": settings.teacher, "run": translations.run, "beam": translations.beam}
    else:
        raise UserError(f"data.teacher: no translations by {settings.teacher!r} are given; the rule `teach` makes them")
    notes: Counter[str] = Counter()
    targets = [tidy(text, notes) for text in made]
    kept = [index for index, target in enumerate(targets) if target]
    if not kept:
        raise UserError(f"data.teacher: every translation by {settings.teacher!r} is empty")
    for row, target in zip(train.rows, targets, strict=True):
        if not target:
            train.drops.add("empty translation by the teacher (data.teacher)", row)
    taught = replace(train, targets=targets, alignments=None).select(kept)
    counts = {"sentences": len(targets), "empty": len(targets) - len(kept), "cleaned": dict(notes)}
    return taught, {**by, **counts}


def translate(sources: Sequence[str], settings: Data) -> list[str]:
    """Translate sentences with Apertium, unknown words as they are.

    A blank line goes between two sentences: it ends the first one even without a full stop, else Apertium moves words
    from line to line.

    Raises:
        UserError: Apertium is not there, does not know the languages, or returns another number of lines.

    """
    reachable(settings)
    done = _run("apertium", "-u", _direction(settings), text="".join(f"{source}\n\n" for source in sources))
    if done.returncode:
        raise UserError(f"apertium: exit code {done.returncode}: {(done.stderr.strip() or 'nothing said')[-200:]}")
    lines = done.stdout.split("\n")
    if len(lines) != 2 * len(sources) + 1 or any(map(str.strip, lines[1::2])):
        raise UserError(
            f"apertium: {len(sources):,} sentences with a blank line after each came back as {len(lines) - 1:,} lines; "
            "the translations cannot be told apart"
        )
    return lines[:-1:2]


def reachable(settings: Data) -> str:
    """Return which Apertium there is, without translating.

    Raises:
        UserError: it is not installed, or does not know the languages.

    """
    direction = _direction(settings)
    install = f"it comes with the Debian package apertium-{direction}: `sudo apt-get install apertium-{direction}`"
    if shutil.which("apertium") is None:
        raise UserError(f"data.teacher: apertium is not installed; {install}")
    if direction not in _run("apertium", "-l").stdout.split():
        raise UserError(f"data.teacher: this apertium has no {direction}; {install}")
    return " ".join(str(value) for value in _versions(settings).values())


def _of_model(sources: Sequence[str], translations: Translations) -> list[str]:
    theirs, targets = read_lines(translations.sources), read_lines(translations.targets)
    for number, (their, own) in enumerate(zip(theirs, sources, strict=False), start=1):
        if their != own:
            raise _other_text(translations, f"line {number} is {their!r}, but {own!r} here")
    if len(theirs) != len(sources):
        raise _other_text(translations, f"{len(theirs):,} lines, but {len(sources):,} here")
    if len(targets) != len(sources):
        raise UserError(f"{translations.targets}: {len(targets):,} translations of {len(sources):,} sentences")
    return targets


def _other_text(translations: Translations, fault: str) -> UserError:
    return UserError(
        f"{translations.sources}: {fault}; a teacher translates its own training sources, so teacher and student need "
        "the same settings in `data`"
    )


def _direction(settings: Data) -> str:
    languages = settings.source_language, settings.target_language
    if languages not in APERTIUM_DIRECTIONS:
        allowed = ", ".join(f"{source} to {target}" for source, target in APERTIUM_DIRECTIONS)
        raise UserError(f"data.teacher: apertium does not translate {' to '.join(languages)} here; allowed: {allowed}")
    return APERTIUM_DIRECTIONS[languages]


def _versions(settings: Data) -> dict[str, Any]:
    package = f"apertium-{_direction(settings)}"
    asked = _run("dpkg-query", "--show", "--showformat=${Version}", package) if shutil.which("dpkg-query") else None
    return {
        "program": _run("apertium", "-V").stdout.strip() or APERTIUM,
        "package": f"{package} {asked.stdout if asked and not asked.returncode else 'of unknown version'}",
    }


def _run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False)
