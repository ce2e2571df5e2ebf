"""A tiny prepared corpus and the runs of a tiny study, for the verbs of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_settings import TINY

from headcount.config import Study, parse
from headcount.data.prepare import prepare
from headcount.plan import data_settings


@pytest.fixture(scope="session")
def tiny() -> Study:
    return parse(TINY)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory, tiny: Study) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "data"
    prepare(parse(json.loads(data_settings(tiny))), folder)
    return folder
