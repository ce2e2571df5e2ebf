"""Paragraphs are split where a sentence ends, and only when both languages agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.sentences import aligned_sentences, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Click OK. The dialog closes.", ["Click OK.", "The dialog closes."]),
        ('Type "yes." Then press Enter! Why? "So."', ['Type "yes."', "Then press Enter!", "Why?", '"So."']),
        ("Wait… Now go on.", ["Wait…", "Now go on."]),
        ("It opens. (See above.) Close it.", ["It opens.", "(See above.)", "Close it."]),
        ("An end mark. before a small letter", ["An end mark. before a small letter"]),
        ("In LibreOffice 7.4 and file.odt nothing ends", ["In LibreOffice 7.4 and file.odt nothing ends"]),
        ("z. B. Dateien bzw. Mappen, e.g. Files", ["z. B. Dateien bzw. Mappen, e.g. Files"]),
        ("Am 1. Mai beginnt es.", ["Am 1. Mai beginnt es."]),
        ("Задаёт место. Введите код.", ["Задаёт место.", "Введите код."]),
        ("封筒を作成します。次へ進みます。", ["封筒を作成します。", "次へ進みます。"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text('ab Z.!?。"(1'))
def test_nothing_but_spaces_is_lost(text: str) -> None:
    assert "".join(sentences(text)).replace(" ", "") == text.replace(" ", "")


def test_unequal_numbers_leave_the_paragraph_whole() -> None:
    assert aligned_sentences("One. Two.", "Eins. Zwei.") == [("One.", "Eins."), ("Two.", "Zwei.")]
    assert aligned_sentences("One. Two.", "Eins und zwei.") == [("One. Two.", "Eins und zwei.")]
