"""What counts as a word: for length limits, frequency lists, leakage and near-duplicates, never for the model."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

# Thai, Lao, Burmese, Khmer, kana and Han are written without spaces: every character stands for itself.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Python's \w leaves out combining marks and would cut Hindi words at their vowel signs.
_MARKS = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
_LETTERS = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])+"
_WORD = re.compile(rf"[{_UNSPACED}]|{_LETTERS}(?:['’]{_LETTERS})?|[^\w\s]")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


def words(text: str) -> list[str]:
    """Split into case-folded words and single punctuation marks."""
    return _WORD.findall(text.casefold())


def unspaced(word: str) -> bool:
    """Say whether a word is one character of a script without spaces."""
    return _UNSPACED_CHARACTER.fullmatch(word) is not None


def terms(text: str) -> list[str]:
    """Return what a text is looked up by: its words, and neighbouring characters of a script without spaces in pairs.

    A character alone says little; pairs stand for words where no space does.
    """
    found = words(text)
    return found + [one + other for one, other in pairwise(found) if unspaced(one) and unspaced(other)]


def length(text: str) -> int:
    """Count words and punctuation marks; two characters of a script without spaces weigh as one word."""
    return len(words(text)) - len(_UNSPACED_CHARACTER.findall(text)) // 2


def normalise(text: str) -> str:
    """Reduce a sentence to its words: sentences that differ only in case, marks or spacing become equal."""
    kept = [word for word in words(unicodedata.normalize("NFKC", text)) if any(map(str.isalnum, word))]
    return " ".join(kept) or text.casefold()
