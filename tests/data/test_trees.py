"""CoNLL-U: what is written is read again, faults name path and line, two names of a relation are one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.synthetic import Language
from headcount.data.trees import (
    Tree,
    Word,
    best_fixed_offset,
    canonical,
    find_trees,
    offsets,
    read_trees,
    text_of,
)
from headcount.errors import UserError

DOG = """# sent_id = 1
# text = The dog didn't bark.
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t5\tnsubj\t_\t_
3-4\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
3\tdid\tdo\tAUX\tVBD\t_\t5\taux\t_\t_
4\tn't\tnot\tPART\tRB\t_\t5\tadvmod\t_\t_
4.1\tsilently\t_\t_\t_\t_\t_\t_\t_\t_
5\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t5\tpunct\t_\t_

"""


def row(number: object, form: str = "x", head: object = 0, relation: str = "dep") -> str:
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"


def word(form: str, head: int, relation: str, surface: str | None = None) -> Word:
    return Word(form, head, relation, form if surface is None else surface)


@pytest.fixture
def read(tmp_path: Path):
    def reader(text: str) -> list[Tree]:
        path = tmp_path / "trees.conllu"
        path.write_text(text, encoding="utf-8", newline="")
        return read_trees(path)

    return reader


def test_comments_ranges_and_empty_nodes_are_skipped(read):
    (tree,) = read(DOG)
    assert [w.form for w in tree] == ["The", "dog", "did", "n't", "bark", "."]
    assert [w.head for w in tree] == [2, 5, 5, 5, 0, 5]
    assert [w.surface for w in tree] == [w.form for w in tree]  # the range is written like its words


def test_a_range_written_differently_is_covered_by_its_first_word(read):
    text = "1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_\n" + row(1, "In", 3) + row(2, "dem", 3) + row(3, "Haus")
    (tree,) = read(text)
    assert [w.surface for w in tree] == ["Im", "", "Haus"]
    assert find_trees([tree], ["Im Haus"]) == [tree]
    assert read(text_of([tree])) == [tree]


def test_sentences_are_cut_at_empty_lines_and_the_last_needs_none(read):
    assert len(read(row(1) + "\n\n" + row(1) + row(2, head=1))) == 2
    assert len(read("\ufeff" + row(1).replace("\n", "\r\n"))) == 1
    assert read("") == []
    assert read("# only a comment\n\n") == []


def test_both_names_of_the_object_are_one(read):
    assert canonical("obj") == canonical("dobj") == "dobj"
    (ud,), (spacy,) = (read(row(1) + row(2, head=1, relation=name)) for name in ("obj", "dobj"))
    assert ud == spacy
    assert canonical("iobj") == "iobj"


FORMS = st.text("ab1-_#.é日", min_size=1, max_size=4)


@st.composite
def trees(draw) -> Tree:
    """A tree with several roots perhaps, and with ranges whose later words cover nothing."""
    size = draw(st.integers(1, 7))
    order = draw(st.permutations(range(1, size + 1)))
    heads = {n: draw(st.sampled_from([0, *order[:place]])) for place, n in enumerate(order)}
    words: list[Word] = []
    for number in range(1, size + 1):
        form, relation = draw(FORMS), draw(st.sampled_from(["nsubj", "dobj", "amod"]))
        covers = draw(st.sampled_from(["itself", "nothing", "more"]))
        surface = {"itself": form, "nothing": "", "more": f"{form}!{form}"}[covers]
        if covers == "nothing" and not (words and words[-1].surface != words[-1].form):
            surface = form
        words.append(Word(form, heads[number], relation, surface))
    return tuple(words)


@given(st.lists(trees(), max_size=4))
def test_what_is_written_is_read_again(tmp_path_factory, written: list[Tree]):
    path = tmp_path_factory.getbasetemp() / "written.conllu"
    path.write_text(text_of(written), encoding="utf-8", newline="")
    assert read_trees(path) == written


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (row(1) + "2\tx\t_\n", 2, "3 columns"),
        (row(1) + row(1), 2, "word 1 where word 2 is due"),
        (row(2), 1, "word 2 where word 1 is due"),
        (row("a"), 1, "ID 'a'"),
        (row("01"), 1, "ID '01'"),
        (row(1, head="_"), 1, "HEAD '_'; allowed: 0 to 1"),
        (row(1, head=2), 1, "HEAD '2'; allowed: 0 to 1"),
        (row(1, head=-1), 1, "HEAD '-1'"),
        (row(1, head=1), 1, "circle"),
        (row(1, head=0) + "\n" + row(1, head=2) + row(2, head=1), 3, "circle"),
        (row(1, form=" "), 1, "FORM is empty"),
        (row(1) + row("1-2") + row(2), 2, "range 1-2 does not stand before its words"),
        ("# a\n" + row("1-3") + row(1), 2, "ends at word 3 of 1"),
        (row("0.1"), 1, "a sentence without words"),
    ],
)
def test_faults_name_path_and_line(read, text: str, line: int, message: str):
    with pytest.raises(UserError, match=rf"trees\.conllu: line {line}: ") as caught:
        read(text)
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UserError, match=r"none\.conllu: no such file"):
        read_trees(tmp_path / "none.conllu")


def test_a_sentence_finds_its_tree_by_its_text_whatever_the_order_and_the_spaces():
    first = (word("Hi", 0, "root"), word("!", 1, "punct"))
    second = (word("Don", 0, "root"), word("'t", 1, "neg"))
    assert find_trees([second, first], ["Hi !", "Don't", "Hi!", "don't", ""]) == [first, second, first, None, None]


def test_offsets_are_counted_in_words_from_the_head():
    tree = (word("a", 2, "nsubj"), word("b", 0, "root"), word("c", 4, "amod"), word("d", 2, "dobj"))
    counts = offsets([tree, tree, (word("a", 3, "nsubj"), word("x", 3, "aux"), word("b", 0, "root"))])
    assert counts == {("nsubj", -1): 2, ("amod", -1): 2, ("dobj", 2): 2, ("nsubj", -2): 1, ("aux", -1): 1}
    assert best_fixed_offset(counts, "nsubj") == pytest.approx(2 / 3)
    assert best_fixed_offset(counts, "amod") == 1.0
    assert best_fixed_offset(counts, "advmod") != best_fixed_offset(counts, "advmod")  # NaN


def test_gold_trees_of_the_synthetic_language_are_sound(read):
    sentences = Language(nouns=6, verbs=4, seed=1).sample(30)
    found = read("".join(f"{sentence.conllu()}\n\n" for sentence in sentences))
    assert find_trees(found, [sentence.source_text for sentence in sentences]) == found
