"""The baseline that knows no translation: the target of the most similar training source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from headcount.data.words import terms

_CELLS = 1 << 24
"""Similarities held in memory at a time."""


def lookup(train_sources: Sequence[str], train_targets: Sequence[str], test_sources: Sequence[str]) -> list[str]:
    """Return for each test source the target of the training source with the largest idf-weighted cosine.

    The earliest of equals wins. A test source that shares no word with the training text gets an empty line.
    """
    vectorizer = TfidfVectorizer(analyzer=terms, dtype=np.float32)
    train = vectorizer.fit_transform(train_sources)  # [train, term], rows of length 1
    test = vectorizer.transform(test_sources)  # [test, term]
    rows = max(1, _CELLS // train.shape[0])
    found: list[str] = []
    for start in range(0, test.shape[0], rows):
        similarity = (test[start : start + rows] @ train.T).toarray()  # [rows, train]
        best = similarity.argmax(axis=1)  # [rows]
        found += [train_targets[index] if similarity[row, index] > 0 else "" for row, index in enumerate(best.tolist())]
    return found
