"""The synthetic language: trees are trees, links fit, agreement holds, and no word-by-word rule translates it."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.sources import synthetic
from headcount.data.synthetic import (
    ADJECTIVE_SUFFIX,
    INVERSE_SUFFIX,
    NOUN_SUFFIX,
    VERB_SUFFIX,
    Language,
    Sentence,
    Token,
)
from headcount.errors import UserError
from headcount.settings import Data

CASES = {"nsubj": "nominative", "obj": "accusative", "nmod": "oblique"}


def language(nouns: int = 12, verbs: int = 5, seed: int = 1) -> Language:
    return Language(nouns=nouns, verbs=verbs, seed=seed)


def dependents(sentence: Sentence, head: int, relation: str) -> list[int]:
    """Return the places, from 0, of the words with this relation to the word at `head`."""
    return [i for i, token in enumerate(sentence.source) if token.head == head + 1 and token.relation == relation]


def translation(sentence: Sentence, place: int) -> str:
    (target,) = [sentence.target[j] for i, j in sentence.links if i == place]
    return target


def gender_and_number(grammar: Language, sentence: Sentence, noun: int) -> tuple[str, str]:
    (determiner,) = dependents(sentence, noun, "det")
    number = ("sing", "plur")[grammar.source["determiner"].index(sentence.source[determiner].form)]
    return grammar.genders[grammar.source["noun"].index(sentence.source[noun].form)], number


def expected(grammar: Language, sentence: Sentence, place: int, token: Token) -> str:
    """Translate one word from the tree and the lexicon alone."""
    match token.tag:
        case "VERB":
            (subject,) = dependents(sentence, place, "nsubj")
            stem = grammar.source["verb"].index(token.form.removesuffix(INVERSE_SUFFIX))
            return grammar.target["verb"][stem] + VERB_SUFFIX[gender_and_number(grammar, sentence, subject)]
        case "NOUN":
            number = gender_and_number(grammar, sentence, place)[1]
            stem = grammar.source["noun"].index(token.form)
            return grammar.target["noun"][stem] + NOUN_SUFFIX[CASES[token.relation], number]
        case "ADJ":
            suffix = ADJECTIVE_SUFFIX[gender_and_number(grammar, sentence, token.head - 1)]
            return grammar.target["adjective"][grammar.source["adjective"].index(token.form)] + suffix
        case "DET":
            return translation(sentence, token.head - 1)
    kind = {"ADP": "preposition", "ADV": "adverb"}[token.tag]
    return grammar.target[kind][grammar.source[kind].index(token.form)]


sizes = st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(-3, 3))


@settings(max_examples=40)
@given(sizes, st.integers(1, 60))
def test_grammar(size: tuple[int, int, int], pairs: int) -> None:
    grammar = language(*size)
    sentences = grammar.sample(pairs)
    assert len({sentence.source_text for sentence in sentences}) == pairs
    for sentence in sentences:
        source, target = sentence.source, sentence.target
        assert [token.relation for token in source].count("root") == [token.head for token in source].count(0) == 1
        for place in range(len(source)):
            visited = set()
            while source[place].head and place not in visited:
                visited.add(place)
                place = source[place].head - 1
            assert source[place].head == 0, "no cycle"
        assert sorted(i for i, _ in sentence.links) == list(range(len(source))), "each source word has one link"
        assert {j for _, j in sentence.links} == set(range(len(target))), "each target word has a link"
        for place, token in enumerate(source):
            assert translation(sentence, place) == expected(grammar, sentence, place, token)


def test_word_order() -> None:
    for sentence in language().sample(400):
        tags = {token.tag: place for place, token in enumerate(sentence.source)}
        (subject,) = dependents(sentence, tags["VERB"], "nsubj")
        objects = dependents(sentence, tags["VERB"], "obj")
        inverse = sentence.source[tags["VERB"]].form.endswith(INVERSE_SUFFIX)
        assert (subject > tags["VERB"]) == inverse
        assert all((place < tags["VERB"]) == inverse for place in objects)
        link = dict(sentence.links)
        assert link[tags["VERB"]] == len(sentence.target) - 1
        assert all(link[subject] < link[place] for place in objects)
        for place, token in enumerate(sentence.source):
            if token.tag == "ADJ":
                assert link[place] == link[token.head - 1] + 1


def test_no_word_by_word_rule_translates_it() -> None:
    grammar = language()
    forms: dict[str, set[str]] = defaultdict(set)
    nearest_agrees, nearest_differs = 0, 0
    for sentence in grammar.sample(1500):
        for place, token in enumerate(sentence.source):
            forms[token.form].add(translation(sentence, place))
        verb = next(place for place, token in enumerate(sentence.source) if token.tag == "VERB")
        (subject,) = dependents(sentence, verb, "nsubj")
        nouns = [place for place, token in enumerate(sentence.source) if token.tag == "NOUN"]
        nearest = min(nouns, key=lambda place: abs(place - verb))
        agrees = gender_and_number(grammar, sentence, nearest) == gender_and_number(grammar, sentence, subject)
        nearest_agrees, nearest_differs = nearest_agrees + agrees, nearest_differs + (not agrees)
    for kind in ("verb", "adjective", "noun"):
        assert all(len(forms[stem]) == 6 for stem in grammar.source[kind])
    assert nearest_differs > nearest_agrees


def test_no_two_words_coincide() -> None:
    grammar = language(nouns=300, verbs=200)
    target = grammar.target
    forms = [stem + suffix for stem in target["noun"] for suffix in NOUN_SUFFIX.values()]
    forms += [stem + suffix for stem in target["adjective"] for suffix in ADJECTIVE_SUFFIX.values()]
    forms += [stem + suffix for stem in target["verb"] for suffix in VERB_SUFFIX.values()]
    forms += [*target["adverb"], *target["preposition"]]
    forms += [stem for stems in grammar.source.values() for stem in stems]
    assert len(set(forms)) == len(forms)


def test_seed_decides_everything() -> None:
    assert language(seed=1).sample(50) == language(seed=1).sample(50)
    assert language(seed=1).sample(50) != language(seed=2).sample(50)


def test_sizes_beyond_64_bits_work() -> None:
    grammar = language(nouns=20_000, verbs=20_000)
    assert grammar.size > 2**64
    assert len({sentence.source_text for sentence in grammar.sample(300)}) == 300


def test_all_structures_occur_evenly() -> None:
    lengths = [len(sentence.source) for sentence in language(nouns=24, verbs=16).sample(1560)]
    assert min(lengths) == 3
    assert max(lengths) == 16
    assert 8 < sum(lengths) / len(lengths) < 13


def test_more_pairs_than_the_language_has_are_refused() -> None:
    tiny = Data.model_validate({"source": "synthetic", "synthetic": {"nouns": 1, "verbs": 1, "pairs": 10**12}})
    for call in (synthetic.read, synthetic.reachable):
        with pytest.raises(
            UserError, match=r"data\.synthetic\.pairs: 1,000,000,000,000 are more than the [\d,]+ distinct"
        ):
            call(tiny)
    grammar = language(1, 1)
    grammar.check(grammar.size)


def test_as_a_corpus() -> None:
    asked = Data.model_validate({"source": "synthetic", "synthetic": {"pairs": 30}})
    pairs = synthetic.read(asked)
    assert synthetic.reachable(asked) == "will be generated"
    assert pairs.trees is not None
    assert pairs.alignments is not None
    assert len(pairs) == len(pairs.trees) == len(pairs.alignments) == 30
    for source, target, tree, links in zip(pairs.sources, pairs.targets, pairs.trees, pairs.alignments, strict=True):
        comment, *rows = tree.split("\n")
        columns = [row.split("\t") for row in rows]
        assert comment == f"# text = {source}"
        assert [row[1] for row in columns] == source.split()
        assert [int(row[0]) for row in columns] == list(range(1, len(columns) + 1))
        assert {len(row) for row in columns} == {10}
        assert max(int(link.split("-")[1]) for link in links.split()) == len(target.split()) - 1
