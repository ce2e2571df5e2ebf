"""Identified paragraphs come out as plain text; what is no text of the page stays out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.paragraphs import paragraphs


def text_of(inside: str) -> list[str]:
    return paragraphs(f'<body><p id="par_id1" class="paragraph">{inside}</p></body>').get("par_id1", [])


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("Choose<span class='emph'> File\n  &#8211; Open</span>.", "Choose File – Open."),
        ("Tom &amp; Jerry&nbsp;&lt;b&gt; gr&uuml;n", "Tom & Jerry <b> grün"),
        ("before,<br>after<br/>more", "before, after more"),
        ("the <img src='x.svg' alt='Icon text'> icon", "the icon"),
        ("<a href='y.html'>linked</a> x<sup>2</sup>", "linked x2"),
        ("a <!-- comment --> b", "a b"),
        ("an <span>unclosed inline", "an unclosed inline"),
    ],
)
def test_markup_goes_and_text_stays(inside: str, expected: str) -> None:
    assert text_of(inside) == [expected]


def test_only_identified_paragraphs_with_text_are_read() -> None:
    page = """<html><head><title>No</title><script>var par_id = "<p>";</script></head><body><p>No id.</p>
    <h1 id="hd_id1">Heading</h1><p id="bm_id2">bookmark</p><p id="par_id3" class="code">Dim x</p>
    <p id="par_id4" class="image"><img src="x.png"></p><p id="par_id5"> &nbsp; </p>
    <pre id="par_id6" class="codeintable">y</pre>
    <table><tr><td><p id="par_idN7" class="tablecontent">Cell</p></td></tr></table></body></html>"""
    assert paragraphs(page) == {"hd_id1": ["Heading"], "par_idN7": ["Cell"]}


@pytest.mark.parametrize(
    ("variants", "expected"),
    [
        ('<span id="MACx" hidden="true">Command<b>!</b></span><span id="defaultx">Ctrl</span>', "Press Ctrl+F now."),
        ('<span id="WRITERx">W</span><span id="CALCx">C</span>', "Press W+F now."),
        ("", "Press +F now."),
    ],
)
def test_one_variant_of_a_switch_is_taken(variants: str, expected: str) -> None:
    switch = f'<span id="sw" class="switchinline">{variants}</span>'
    assert text_of(f"Press {switch}<span class='keycode'>+F</span> now.") == [expected]


def test_a_switch_in_a_switch() -> None:
    inner = '<span class="switchinline"><span id="MACi">no</span><span id="defaulti">yes</span></span>'
    assert text_of(f'<span class="switchinline"><span id="defaulto">say {inner} now</span></span>.') == ["say yes now."]


_SOUP = ['<p id="par_id1">', '<span class="switchinline">', '<span id="defaultx">', "</span>", "</p>", "<td>", "x", "<"]


@given(st.lists(st.sampled_from(_SOUP)))
def test_any_soup_of_tags_is_read_and_text_outside_paragraphs_stays_out(soup: list[str]) -> None:
    found = paragraphs(f'{"".join(soup)}</p></p></td><p id="hd_id2">end</p>')
    assert not any(text.isspace() or not text for texts in found.values() for text in texts)
    if '<p id="par_id1">' not in soup:
        assert found.get("par_id1") is None


def test_an_embedded_section_gives_every_text_of_its_id_in_order() -> None:
    page = '<p id="par_id1">One.</p><div><p id="par_id1">Two.</p></div><p id="par_id2">Three.'
    assert paragraphs(page) == {"par_id1": ["One.", "Two."], "par_id2": ["Three."]}
