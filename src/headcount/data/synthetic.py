"""A small language pair whose translation cannot be done word by word, with known trees and alignments.

The source marks number on the determiner only and gender nowhere; a suffix of the verb tells whether the order is
subject-verb-object or object-verb-subject. The target has no determiners, puts the verb last, adjectives after
their noun and prepositional phrases before it, and inflects: nouns for case and number, adjectives for gender and
number of their noun, verbs for gender and number of their subject, however far away it stands and whichever nouns
stand between.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from headcount.errors import UserError

GENDERS = ("fem", "masc", "neut")
NUMBERS = ("sing", "plur")
ADJECTIVES, ADVERBS, PREPOSITIONS = 12, 6, 4

INVERSE_SUFFIX = "oth"
"""On a source verb whose object comes first."""

# Stems alternate consonant and vowel and all have one length; suffixes start with a vowel: no two words coincide.
NOUN_SUFFIX = {
    ("nominative", "sing"): "",
    ("nominative", "plur"): "ar",
    ("accusative", "sing"): "en",
    ("accusative", "plur"): "aren",
    ("oblique", "sing"): "im",
    ("oblique", "plur"): "arim",
}
ADJECTIVE_SUFFIX = dict(
    zip(itertools.product(GENDERS, NUMBERS), ("ena", "enat", "ol", "olet", "um", "umet"), strict=True)
)
VERB_SUFFIX = dict(zip(itertools.product(GENDERS, NUMBERS), ("ika", "ikat", "or", "orut", "es", "esut"), strict=True))

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True)
class Token:
    """A source word in its dependency tree; `head` counts from 1 and is 0 at the root."""

    form: str
    tag: str
    head: int
    relation: str


@dataclass(frozen=True)
class Sentence:
    """A pair: source tree, target words and links (source, target) from 0."""

    source: tuple[Token, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]

    @property
    def source_text(self) -> str:
        """The source words."""
        return " ".join(token.form for token in self.source)

    @property
    def target_text(self) -> str:
        """The target words."""
        return " ".join(self.target)

    def conllu(self) -> str:
        """Return the tree of the source as a CoNLL-U block without the closing empty line."""
        lines = [f"# text = {self.source_text}"]
        for number, token in enumerate(self.source, start=1):
            columns = [str(number), token.form, "_", token.tag, "_", "_", str(token.head), token.relation, "_", "_"]
            lines.append("\t".join(columns))
        return "\n".join(lines)

    def pharaoh(self) -> str:
        """Return the links as `0-1 1-1 2-0`."""
        return " ".join(f"{source}-{target}" for source, target in self.links)


@dataclass(frozen=True)
class _Shape:
    """What a noun phrase is made of."""

    adjective: bool
    attached: _Shape | None = None


@dataclass(frozen=True)
class _Structure:
    """What a sentence is made of."""

    subject: _Shape
    object: _Shape | None
    adverb: bool
    inverse: bool


@dataclass(eq=False)
class _Word:
    """A source word under construction; `translation` is what it becomes, determiners belong to their noun."""

    form: str
    tag: str
    relation: str = "root"
    head: _Word | None = None


@dataclass
class _Phrase:
    """A noun phrase in both languages, in the order of each; target words are still to be joined with their suffix."""

    noun: _Word
    gender: str
    number: str
    source: list[_Word] = field(default_factory=list)
    target: list[tuple[str, list[_Word]]] = field(default_factory=list)


class _Draw:
    """Reads the digits of a number in mixed radix: one number is one choice of all words."""

    def __init__(self, number: int) -> None:
        self.number = number

    def take(self, radix: int) -> int:
        self.number, digit = divmod(self.number, radix)
        return digit


class Language:
    """Lexicon and grammar, a pure function of sizes and seed."""

    def __init__(self, *, nouns: int, verbs: int, seed: int) -> None:
        self._rng = random.Random(f"synthetic {seed}")
        classes = {"noun": nouns, "verb": verbs, "adjective": ADJECTIVES, "adverb": ADVERBS}
        classes |= {"preposition": PREPOSITIONS, "determiner": len(NUMBERS)}
        stems = self._stems(2 * sum(classes.values()))
        self.source = {name: list(itertools.islice(stems, size)) for name, size in classes.items()}
        self.target = {name: list(itertools.islice(stems, size)) for name, size in classes.items()}
        self.genders = [GENDERS[index % len(GENDERS)] for index in range(nouns)]
        self._structures = {structure: self._count(structure) for structure in _structures()}

    @property
    def size(self) -> int:
        """Number of distinct pairs of the language."""
        return sum(self._structures.values())

    def check(self, pairs: int) -> None:
        """Raise UserError when the language has fewer distinct pairs than asked for."""
        if pairs > self.size:
            raise UserError(
                f"data.synthetic.pairs: {pairs:,} are more than the {self.size:,} distinct pairs of "
                f"{len(self.source['noun'])} nouns and {len(self.source['verb'])} verbs; ask for fewer, or raise "
                f"data.synthetic.nouns or data.synthetic.verbs"
            )

    def sample(self, pairs: int) -> list[Sentence]:
        """Draw distinct pairs, the sentence structures in equal shares as far as they reach."""
        self.check(pairs)
        rng = self._rng
        drawn = [
            self._sentence(structure, number)
            for structure, share in self._shares(pairs).items()
            for number in _distinct(rng, self._structures[structure], share)
        ]
        rng.shuffle(drawn)
        return drawn

    def _stems(self, number: int) -> Iterator[str]:
        """Draw distinct stems of equal length, the shortest length that leaves half of the stems unused."""
        syllables = 2
        while len(_SYLLABLES) ** syllables < 2 * number:
            syllables += 1
        for drawn in _distinct(self._rng, len(_SYLLABLES) ** syllables, number):
            draw = _Draw(drawn)
            yield "".join(_SYLLABLES[draw.take(len(_SYLLABLES))] for _ in range(syllables))

    def _shares(self, pairs: int) -> dict[_Structure, int]:
        """Spread the pairs evenly; what a small structure cannot yield goes to the others."""
        shares = dict.fromkeys(self._structures, 0)
        open_ = list(self._structures)
        self._rng.shuffle(open_)
        while pairs:
            share = max(1, pairs // len(open_))
            for structure in open_:
                more = min(share, pairs, self._structures[structure] - shares[structure])
                shares[structure] += more
                pairs -= more
            open_ = [structure for structure in open_ if shares[structure] < self._structures[structure]]
        return shares

    def _count(self, structure: _Structure) -> int:
        count = len(self.source["verb"]) * self._count_phrase(structure.subject)
        count *= self._count_phrase(structure.object) if structure.object else 1
        return count * (ADVERBS if structure.adverb else 1)

    def _count_phrase(self, shape: _Shape) -> int:
        count = len(NUMBERS) * len(self.source["noun"]) * (ADJECTIVES if shape.adjective else 1)
        return count * (PREPOSITIONS * self._count_phrase(shape.attached) if shape.attached else 1)

    def _sentence(self, structure: _Structure, number: int) -> Sentence:
        draw = _Draw(number)
        stem = draw.take(len(self.source["verb"]))
        verb = _Word(self.source["verb"][stem] + (INVERSE_SUFFIX if structure.inverse else ""), "VERB")
        subject = self._phrase(structure.subject, "nominative", draw)
        subject.noun.head, subject.noun.relation = verb, "nsubj"
        before, after = subject.source, list[_Word]()
        target = list(subject.target)
        if structure.object:
            object_ = self._phrase(structure.object, "accusative", draw)
            object_.noun.head, object_.noun.relation = verb, "obj"
            before, after = (object_.source, before) if structure.inverse else (before, object_.source)
            target += object_.target
        source = [*before, verb, *after]
        if structure.adverb:
            index = draw.take(ADVERBS)
            adverb = _Word(self.source["adverb"][index], "ADV", "advmod", verb)
            source.append(adverb)
            target.insert(0, (self.target["adverb"][index], [adverb]))
        target.append((self.target["verb"][stem] + VERB_SUFFIX[subject.gender, subject.number], [verb]))
        return _finish(source, target)

    def _phrase(self, shape: _Shape, case: str, draw: _Draw) -> _Phrase:
        """Build a noun phrase with its target words already inflected."""
        number, index = NUMBERS[draw.take(len(NUMBERS))], draw.take(len(self.source["noun"]))
        gender = self.genders[index]
        noun = _Word(self.source["noun"][index], "NOUN")
        determiner = _Word(self.source["determiner"][NUMBERS.index(number)], "DET", "det", noun)
        phrase = _Phrase(noun, gender, number, source=[determiner])
        phrase.target.append((self.target["noun"][index] + NOUN_SUFFIX[case, number], [determiner, noun]))
        if shape.adjective:
            stem = draw.take(ADJECTIVES)
            adjective = _Word(self.source["adjective"][stem], "ADJ", "amod", noun)
            phrase.source.append(adjective)
            phrase.target.append((self.target["adjective"][stem] + ADJECTIVE_SUFFIX[gender, number], [adjective]))
        phrase.source.append(noun)
        if shape.attached:
            stem = draw.take(PREPOSITIONS)
            attached = self._phrase(shape.attached, "oblique", draw)
            attached.noun.head, attached.noun.relation = noun, "nmod"
            preposition = _Word(self.source["preposition"][stem], "ADP", "case", attached.noun)
            phrase.source += [preposition, *attached.source]
            phrase.target[:0] = [*attached.target, (self.target["preposition"][stem], [preposition])]
        return phrase


def _structures() -> Iterator[_Structure]:
    flags = (False, True)
    simple = [_Shape(adjective) for adjective in flags]
    shapes = [_Shape(adjective, attached) for adjective in flags for attached in (None, *simple)]
    for subject, object_, adverb in itertools.product(shapes, (None, *shapes), flags):
        for inverse in flags if object_ else (False,):
            yield _Structure(subject, object_, adverb, inverse)


def _distinct(rng: random.Random, below: int, number: int) -> list[int]:
    """Draw distinct integers; `random.sample` alone cannot reach beyond 64 bits."""
    if below < 4 * number:
        return rng.sample(range(below), number)
    drawn: dict[int, None] = {}
    while len(drawn) < number:
        drawn[rng.randrange(below)] = None
    return list(drawn)


def _finish(source: list[_Word], target: list[tuple[str, list[_Word]]]) -> Sentence:
    place = {word: index for index, word in enumerate(source)}
    tokens = tuple(
        Token(word.form, word.tag, place[word.head] + 1 if word.head else 0, word.relation) for word in source
    )
    links = sorted((place[word], index) for index, (_, words) in enumerate(target) for word in words)
    return Sentence(tokens, tuple(form for form, _ in target), tuple(links))
