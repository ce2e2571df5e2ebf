"""A pretended study on disk and a real SQLite store of MLflow."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from toy_study import SETTINGS, Toy, View

from headcount.config import parse
from headcount.tracking import store


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty store once; making a schema takes seconds."""
    database = tmp_path_factory.mktemp("store") / "template.db"
    with store.connect(f"sqlite:///{database}", Path("template")):
        pass
    return database


@pytest.fixture
def bare(tmp_path: Path) -> Toy:
    """Return an empty study; the file of its store does not exist."""
    return Toy(parse(SETTINGS), tmp_path / "results" / "toy", f"sqlite:///{tmp_path / 'results' / 'mlflow.db'}")


@pytest.fixture
def toy(bare: Toy, template: Path) -> Toy:
    """Return an empty study beside a store that is ready."""
    bare.folder.parent.mkdir()
    shutil.copy(template, bare.folder.parent / "mlflow.db")
    return bare


@pytest.fixture
def view(toy: Toy) -> View:
    """Return a look into the store."""
    from mlflow import MlflowClient

    return View(MlflowClient(tracking_uri=toy.uri))
