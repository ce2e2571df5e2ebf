from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount.analysis.runs import collect

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from fake_study import settings, write_study


@pytest.fixture(scope="session")
def tables_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the folder with the tables of an invented study; equal settings share it."""
    made: dict[str, Path] = {}

    def tables(**changes: Any) -> Path:
        key = repr(sorted(changes.items()))
        if key not in made:
            folder = tmp_path_factory.mktemp("study")
            collect(folder, folder / "tables", write_study(folder, settings(**changes)))
            made[key] = folder / "tables"
        return made[key]

    return tables
