from __future__ import annotations

from pathlib import Path

import pytest
from fake_study import settings, write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder of a finished study with two seeds, and the ids of its runs."""
    folder = tmp_path_factory.mktemp("study")
    return folder, write_study(folder, settings(seeds=(1, 2)))
