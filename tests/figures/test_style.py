from __future__ import annotations

import warnings
from io import BytesIO

import pytest
from matplotlib.figure import Figure

from headcount.figures.groups import DENSE, ORDER, PRUNED
from headcount.figures.style import LOOKS, ROLE_LABELS, ROLES, kind_of, look, paper_style, role_name, role_words


def test_every_method_has_a_look_that_no_other_has() -> None:
    assert set(LOOKS) == set(ORDER)
    assert set(DENSE) | set(PRUNED) | {"lookup"} == set(ORDER)
    distinct = {name: known for name, known in LOOKS.items() if name != "round"}  # a ticket's colour, by intent
    assert len({known.colour for known in distinct.values()}) == len(distinct)
    assert len({known.label for known in LOOKS.values()}) == len(LOOKS)


def test_variants_are_called_after_their_method() -> None:
    assert look("ticket", "michel").label == "ticket by gradient (Michel)"
    assert look("ticket", "no_warmup").label == "lottery ticket, no warmup"
    assert look("ranked", "michel-one_shot").label == "ranked after training, michel, one shot"
    assert look("reinit_longer", "1e-05").label == "re-initialised, trained longer, 1e-05"
    assert look("ticket", "").label == look("ticket").label == "lottery ticket"


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("-1", "−1"),
        ("+1", "+1"),
        ("rare-2", "rare"),
        ("nsubj:to_dependent", "v→s"),
        ("nsubj:to_head", "s→v"),
        ("obj:to_head", "o→v"),
        ("amod:to_head", "a→n"),
        ("advmod:to_dependent", "v→a"),
        ("det:to_dependent", "h→det"),
        ("nsubj:pass:to_head", "nsubj:pass→h"),
    ],
)
def test_roles_are_named_as_in_the_paper(role: str, name: str) -> None:
    assert role_name(role) == name


def test_roles_in_words() -> None:
    assert role_words("amod:to_dependent") == "noun → adjective"
    assert role_words("advmod:to_head") == "adverb → verb"
    assert role_words("det:to_head") == "det → head word"


def test_a_head_with_functions_of_two_kinds_is_of_several() -> None:
    assert [kind_of(kinds) for kinds in (set(), {"rare"}, {"rare", "positional"})] == ["unnamed", "rare", "several"]
    assert set(ROLES) == set(ROLE_LABELS)


@pytest.mark.parametrize("piece", ["▁the", "übergrößen", "日本語", "ひらがな", "カタカナ", "α−1"])
def test_every_piece_has_its_glyphs(piece: str) -> None:
    with paper_style(), warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a glyph that no font has, and draws a box
        figure = Figure()
        figure.text(0.5, 0.5, piece)
        figure.savefig(BytesIO(), format="svg")
