"""Targets by a teacher: line by line, of the same text, and everything that is lost is counted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from headcount.data.teacher import Translations, reachable, teach, translate
from headcount.data.text import Pairs
from headcount.errors import UserError
from headcount.settings import Data
from needs import needs

SOURCES = ["a dog", "a cat", "two cats"]
DOUBLE = r"""#!/bin/sh
# Says each line twice in Apertium's place, with a space before it as Apertium has.
case "$1" in
  -l) printf '  eng-spa\n  spa-eng\n' ;;
  -V) echo 'Apertium 0.1' ;;
  -u) [ "$2" = eng-spa ] && exec sed 's/..*/ & &/' ;;
esac
"""


def taught_by(teacher: str, **values: Any) -> Data:
    return Data.model_validate({"teacher": teacher, "target_language": "es", **values})


def people() -> Pairs:
    targets = ["ein Hund", "eine Katze", "zwei Katzen"]
    links = ["0-0 1-1"] * 3
    return Pairs("hand-made", list(SOURCES), targets, [4, 5, 9], "none", "", {}, alignments=links, trees=list("xyz"))


def by_model(folder: Path, targets: list[str], sources: list[str] = SOURCES) -> Translations:
    made = Translations("baseline-s1", 4, folder / "train.source", folder / "teacher.target")
    for path, lines in ((made.sources, sources), (made.targets, targets)):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return made


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called apertium before all others."""
    program = folder / "bin" / "apertium"
    program.parent.mkdir()
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_translations_replace_the_targets_and_nothing_else(tmp_path: Path) -> None:
    train = people()
    taught, said = teach(train, taught_by("en-de"), by_model(tmp_path, ["un perro", "  un \u200bgato", "dos gatos"]))
    assert (taught.sources, taught.targets) == (SOURCES, ["un perro", "un gato", "dos gatos"])
    assert (taught.rows, taught.trees, taught.alignments) == (train.rows, train.trees, None)
    assert {key: said[key] for key in ("corpus", "run", "beam", "sentences", "empty")} == {
        "corpus": "en-de",
        "run": "baseline-s1",
        "beam": 4,
        "sentences": 3,
        "empty": 0,
    }
    assert said["cleaned"] == {"U+200B ZERO WIDTH SPACE": 1, "sentences with odd or surplus spaces": 1}
    assert train.targets[0] == "ein Hund"


def test_a_pair_without_translation_is_dropped_and_counted(tmp_path: Path) -> None:
    train = people()
    taught, said = teach(train, taught_by("en-de"), by_model(tmp_path, ["un perro", " ", "dos gatos"]))
    assert list(zip(taught.sources, taught.targets, strict=True)) == [("a dog", "un perro"), ("two cats", "dos gatos")]
    assert (taught.rows, taught.trees) == ([4, 9], ["x", "z"])
    assert (said["sentences"], said["empty"]) == (3, 1)
    assert train.dropped == {"empty translation by the teacher (data.teacher)": 1}
    assert train.examples["empty translation by the teacher (data.teacher)"] == ["row 5"]


@pytest.mark.parametrize(
    ("targets", "sources", "message"),
    [
        (
            ["x", "y", "z"],
            ["a dog", "a bat", "two cats"],
            r"train\.source: line 2 is 'a bat', but 'a cat' here; .*`data`",
        ),
        (["x", "y"], ["a dog", "a cat"], r"train\.source: 2 lines, but 3 here; .*the same settings in `data`"),
        (["x", "y", "z", "?"], [*SOURCES, "more"], r"train\.source: 4 lines, but 3 here"),
        (["x", "y"], SOURCES, r"teacher\.target: 2 translations of 3 sentences"),
        (["", " ", ""], SOURCES, r"data\.teacher: every translation by 'en-de' is empty"),
    ],
)
def test_another_text_is_refused(tmp_path: Path, targets: list[str], sources: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        teach(people(), taught_by("en-de"), by_model(tmp_path, targets, sources))


def test_a_model_must_have_translated_before() -> None:
    with pytest.raises(UserError, match=r"no translations by 'en-de' are given; the rule `teach` makes them"):
        teach(people(), taught_by("en-de"), None)


def test_the_rule_hands_translations_over_as_json() -> None:
    text = json.dumps({"run": "baseline-s2", "beam": 8, "sources": "a/b", "targets": "c"})
    assert Translations.from_json(text) == Translations("baseline-s2", 8, Path("a/b"), Path("c"))


def test_apertium_needs_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, DOUBLE)
    taught, said = teach(people(), taught_by("apertium"), None)
    assert taught.targets == ["a dog a dog", "a cat a cat", "two cats two cats"]
    assert said["program"] == "Apertium 0.1"
    assert said["package"].startswith("apertium-eng-spa ")
    assert (said["sentences"], said["empty"]) == (3, 0)
    assert reachable(taught_by("apertium")).startswith("Apertium 0.1 apertium-eng-spa ")


def test_lines_that_apertium_loses_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, DOUBLE.replace("'s/..*/ & &/'", "/cat/d"))
    with pytest.raises(UserError, match=r"3 sentences with a blank line after each came back as 4 lines"):
        translate(SOURCES, taught_by("apertium"))


def test_lines_that_apertium_moves_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, DOUBLE.replace("'s/..*/ & &/'", "'1{h;d};2G'"))
    with pytest.raises(UserError, match=r"cannot be told apart"):
        translate(SOURCES, taught_by("apertium"))


def test_an_apertium_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, DOUBLE.replace("exec sed 's/..*/ & &/'", "echo 'no data' >&2; exit 3"))
    with pytest.raises(UserError, match=r"apertium: exit code 3: no data"):
        translate(SOURCES, taught_by("apertium"))


def test_a_missing_apertium_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"apertium is not installed; .*`sudo apt-get install apertium-eng-spa`"):
        reachable(taught_by("apertium"))


def test_an_apertium_without_the_languages_is_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, DOUBLE.replace("eng-spa\\n", ""))
    with pytest.raises(UserError, match=r"this apertium has no eng-spa; .*apt-get install apertium-eng-spa"):
        translate(SOURCES, taught_by("apertium"))


@pytest.mark.parametrize("languages", [("en", "de"), ("es", "en"), ("ja", "es")])
def test_apertium_has_one_direction(languages: tuple[str, str]) -> None:
    settings = taught_by("apertium", source_language=languages[0], target_language=languages[1])
    with pytest.raises(UserError, match=rf"not translate {' to '.join(languages)} here; allowed: en to es"):
        reachable(settings)


def test_real_sentences_do_not_meet() -> None:
    """Apertium would take `red` and `car` of two lines for one phrase and let them change places."""
    needs("apertium")
    translations = translate(["This is red", "car is fast", "This is red"], taught_by("apertium"))
    assert all(map(str.strip, translations))
    assert translations[0] == translations[2] != translations[1]
