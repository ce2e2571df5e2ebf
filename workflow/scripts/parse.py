"""Give the sentences of a text their dependency trees: from a file of trees where there is one, else from a parser.

The one place that imports a parser. The output holds the sentences that have a tree, in the order of the text; a
sentence is found by its text without spaces. It is empty, not absent, when nothing can be parsed: the study then goes
on without its syntactic part.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headcount.data.text import read_lines
from headcount.data.trees import Tree, Word, canonical, find_trees, read_trees, text_of
from headcount.errors import UserError
from headcount.files import atomic_write
from headcount.settings import parses

SENTENCES_PER_BATCH = 256

NOT_NEEDED = ("ner", "lemmatizer", "attribute_ruler")
"""Parts of a spaCy model that trees do not need."""

log = logging.getLogger("parse")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake ends with its message and status 2."""
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("text", type=Path, help="sentences, one a line")
    options.add_argument("out", type=Path, help="CoNLL-U")
    options.add_argument("--language", required=True, help="language code of the text")
    options.add_argument("--parser", default="", help="spaCy model; empty parses nothing")
    options.add_argument("--trees", type=Path, help="CoNLL-U to take the trees from; no parser is asked then")
    given = options.parse_args(arguments)
    try:
        parse(given.text, given.out, language=given.language, parser=given.parser, trees=given.trees)
    except UserError as error:
        log.error("error: %s", error)
        sys.exit(2)


def parse(text: Path, out: Path, *, language: str, parser: str, trees: Path | None) -> None:
    """Write the trees of the sentences of `text` as CoNLL-U.

    Raises:
        UserError: a file cannot be read, no sentence is among the trees, or the parser is not installed.

    """
    sentences = read_lines(text)
    if trees is not None:
        known = read_trees(trees)
    elif parses(parser, language):
        known = list(_parse(sentences, parser))
    else:
        log.info("no trees: %s", f"{parser} does not parse {language!r}" if parser else "no parser is set")
        known = []
    found = [tree for tree in find_trees(known, sentences) if tree]
    if trees is not None and not found:
        raise UserError(f"{trees}: holds none of the {len(sentences):,} sentences of {text}; parse that file")
    atomic_write(out, text_of(found))
    log.info("%s: %s of %s sentences have a tree", out, f"{len(found):,}", f"{len(sentences):,}")


def _parse(sentences: list[str], parser: str) -> Iterator[Tree]:
    for package in ("spacy", parser):
        if importlib.util.find_spec(package) is None:
            raise UserError(
                f"roles.parser: package {package!r} is not installed; run `make setup` or `pip install {package}`, "
                f"give your own trees in roles.trees, or set roles.parser to '' to go without syntactic heads"
            )
    import spacy

    pipeline = spacy.load(parser, exclude=list(NOT_NEEDED))
    for parsed in pipeline.pipe(sentences, batch_size=SENTENCES_PER_BATCH):
        yield _tree(parsed)


def _tree(parsed: Any) -> Tree:
    """Return the tree of one line, spaces left out; a line of several sentences has several roots."""
    words = [token for token in parsed if not token.is_space]
    number = {token.i: place for place, token in enumerate(words, start=1)}
    return tuple(
        Word(
            form=token.text,
            head=0 if token.head.i == token.i else number.get(token.head.i, 0),
            relation=canonical(token.dep_),
            surface=token.text,
        )
        for token in words
    )


if __name__ == "__main__":
    main()
