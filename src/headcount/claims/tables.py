"""The tidy tables of a study as the tests of claims read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headcount.errors import UserError

OURS = ("claims", "paper_numbers")
"""Tables that are made from the others."""

TEXTS = (
    *("run", "corpus", "method", "variant", "scope", "setting", "parent", "parent_normaliser", "partner"),
    *("timed_run", "attention", "measure", "measure_a", "measure_b"),
    *("kind", "role", "labels", "relation", "query_token", "key_token"),
)
"""Columns whose cells are text, also where they look like a number (role `-1`) or a missing value (token `null`)."""


class Lacking(Exception):  # noqa: N818 - nothing went wrong
    """The study has not what a test needs; the message says what."""


@dataclass(frozen=True)
class Tables:
    """Tables by name; every table with a column `corpus` holds the same corpora."""

    frames: Mapping[str, pd.DataFrame]

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table that has rows.

        Raises:
            Lacking: there is none, or it is empty.

        """
        if name not in self.frames or self.frames[name].empty:
            raise Lacking(f"no rows in {name}.csv")
        return self.frames[name]

    @property
    def corpora(self) -> list[str]:
        """The corpora of the study, the main one first."""
        return [str(corpus) for corpus in self["runs"]["corpus"].unique()]

    def only(self, corpora: Collection[str]) -> Tables:
        """Return the rows of some corpora."""
        chosen = {
            name: frame[frame["corpus"].isin(corpora)] if "corpus" in frame else frame
            for name, frame in self.frames.items()
        }
        return Tables(chosen)


def read(folder: Path) -> Tables:
    """Read every table of a folder.

    Raises:
        UserError: the folder has no `runs.csv`.

    """
    if not (folder / "runs.csv").is_file():
        raise UserError(f"{folder / 'runs.csv'}: no such table; run `headcount analyse` first")
    frames = {path.stem: _read(path) for path in sorted(folder.glob("*.csv")) if path.stem not in OURS}
    return Tables(frames)


def _read(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, "string"), keep_default_na=False, na_values=[""])
    texts = [column for column in TEXTS if column in table]
    table[texts] = table[texts].fillna("")
    return table
