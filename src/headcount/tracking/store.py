"""The MLflow store: made once and whole, one writer at a time; MLflow is imported inside functions."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from headcount.errors import UserError
from headcount.files import atomic_path
from headcount.tracking.address import artifact_folder, artifact_root, explain, is_server, resolve, shown, sqlite_path
from headcount.tracking.describe import read_note
from headcount.tracking.names import digest
from headcount.tracking.view import KEY, TAG, view_state

INIT_LOCK_SECONDS = 300.0
BUSY_SECONDS = 10.0
"""How long another program may hold the SQLite file."""

ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",  # seconds; MLflow's own 120 with 7 retries would hang for minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",  # no handle stays on a file that was deleted and made anew
}
"""Set for this process before MLflow is imported, where the user has not set them."""

NOTE = "mlflow.note.content"
NOTE_OURS = "headcount.note"
"""Digest of the description that was written here last."""

KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Makes the UI open the experiment in its machine-learning view, not the one for language-model applications."""


class StoreError(Exception):
    """The store cannot be used now; one line for the user, nothing is lost."""


@dataclass(frozen=True)
class Store:
    """An open store and the experiment of one study in it."""

    client: Any
    experiment: str


def init(uri: str, study_folder: Path) -> str:
    """Make the store, the study's experiment and its description, all of it once; say in one line where it is.

    Many processes may start at the same time on a store that does not exist. `study_folder` is `results/<study>`.

    Raises:
        UserError: the address is not allowed or the store cannot be used; one line.

    """
    uri = resolve(uri)
    try:
        with lock(uri, INIT_LOCK_SECONDS), connect(uri, study_folder) as store:
            describe(store, study_folder)
            return f"{shown(uri)}, experiment {experiment_name(study_folder.name)}"
    except StoreError as error:
        raise UserError(str(error)) from None


@contextlib.contextmanager
def lock(uri: str, seconds: float, folder: Path | None = None) -> Iterator[None]:
    """Be the only writer: of a SQLite file, or of one study on a server (a lock file in the study's `folder`).

    Raises:
        StoreError: another writer was busy for longer than `seconds`, or the lock file cannot be written.

    """
    database = sqlite_path(uri)
    path = database.with_name(f"{database.name}.lock") if database else folder and folder / ".tracking.lock"
    if path is None:
        yield
        return
    held = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held.acquire(timeout=seconds)
    except Timeout:
        raise StoreError(
            f"{path}: another sync has been writing for {seconds:.0f} seconds; run `headcount track` later"
        ) from None
    except (OSError, NotImplementedError) as error:  # the second on a file system without locks
        raise StoreError(f"{path}: cannot be locked: {error}") from None
    try:
        yield
    finally:
        held.release()


@contextlib.contextmanager
def connect(uri: str, study_folder: Path) -> Iterator[Store]:
    """Open the store and the experiment of a study; what is missing is made. The caller holds the lock.

    Raises:
        StoreError: whatever goes wrong with the store in the block, as one line.

    """
    with quiet():
        try:
            database = sqlite_path(uri)
            if database:
                _make(database)
                _check(database)
            client = _client(uri)
            yield Store(client, _experiment(client, study_folder.name, artifact_folder(uri, study_folder)))
        except (StoreError, UserError):
            raise
        except Exception as error:  # MLflow, SQLAlchemy, requests and the driver each have their own
            logging.getLogger(__name__).debug("the store failed", exc_info=True)
            raise StoreError(explain(uri, error)) from None


def describe(store: Store, study_folder: Path) -> None:
    """Write the experiment's view and its description, unless someone has edited that in the UI."""
    tags = store.client.get_experiment(store.experiment).tags
    note, wanted = read_note(study_folder), {TAG: view_state()}
    if note and (NOTE not in tags or digest(tags[NOTE])[:16] == tags.get(NOTE_OURS)):
        wanted |= {NOTE: note, NOTE_OURS: digest(note)[:16]}
    for key, value in wanted.items():
        if tags.get(key) != value:
            store.client.set_experiment_tag(store.experiment, key, value)


def page(study: str, uri: str, port: int = 5000) -> str:
    """Return the address of the study's runs in the UI, in its machine-learning view.

    Raises:
        UserError: the store cannot be used or does not have the study yet.

    """
    uri = resolve(uri)
    database = sqlite_path(uri)
    if database and not database.exists():
        raise UserError(f"{database}: nothing tracked yet; run `headcount track` first")
    with quiet():
        try:
            if database:
                _check(database)
            found = _client(uri).get_experiment_by_name(experiment_name(study))
        except StoreError as error:
            raise UserError(str(error)) from None
        except Exception as error:
            raise UserError(explain(uri, error)) from None
    if found is None:
        raise UserError(f"study {study!r} is not in {shown(uri)}; run `headcount track` first")
    server = shown(uri).rstrip("/") if is_server(uri) else f"http://127.0.0.1:{port}"
    view = f"&viewStateShareKey={KEY}" if TAG in found.tags else ""
    return f"{server}/#/experiments/{found.experiment_id}/runs?workflowType=machine_learning{view}"


def ui_command(uri: str, port: int = 5000) -> list[str]:
    """Return the command that shows a database in the browser, on this machine only, without telemetry or job workers.

    Raises:
        UserError: the address is a server, which has its own UI.

    """
    uri = resolve(uri)
    if is_server(uri):
        raise UserError(f"{shown(uri)} is a server with a UI of its own; open it in the browser")
    database = sqlite_path(uri)
    artifacts = ["--artifacts-destination", str(artifact_root(database))] if database else []
    return [
        "env",
        "MLFLOW_DISABLE_TELEMETRY=true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false",
        sys.executable,
        *("-m", "mlflow", "server", "--backend-store-uri", uri, *artifacts),
        *("--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--uvicorn-opts", "--log-level warning"),
    ]


def experiment_name(study: str) -> str:
    """Name the experiment of a study; the prefix keeps it apart from other projects on a shared server."""
    return f"headcount/{study}"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' stack traces and retry warnings off the terminal."""
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    import mlflow  # noqa: F401  its import sets the levels that are raised here

    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic", "urllib3", "sqlalchemy")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _client(uri: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri)


def _make(database: Path) -> None:
    """Make a SQLite store that is not there, under another name: killed half-way, it could never be completed."""
    if not database.exists() or not database.stat().st_size:
        with atomic_path(database) as temporary:
            _client(f"sqlite:///{temporary}").search_experiments()


def _check(database: Path) -> None:
    """Find out at once whether the file is MLflow's and free to write; MLflow itself would try for minutes."""
    address = f"file:{urllib.parse.quote(str(database.absolute()))}?mode=rw"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.rollback()
    if "alembic_version" not in tables:
        raise StoreError(f"{database}: a database, but not one of MLflow; change tracking.uri")


def _experiment(client: Any, study: str, location: Path | None) -> str:
    """Get or create the experiment; a server knows itself where its artifacts lie."""
    from mlflow.exceptions import MlflowException

    name = experiment_name(study)
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            created = client.create_experiment(name, location and location.as_uri(), {**KIND, TAG: view_state()})
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
            found = client.get_experiment_by_name(name)  # another process was faster
        else:
            return str(created)
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    if location and found.artifact_location.startswith("mlflow-artifacts:"):
        raise StoreError(f"study {study!r} was made through a server; set tracking.uri to that server")
    stored = Path(urllib.parse.unquote(found.artifact_location.removeprefix("file://")))
    if location and stored.resolve() != location.resolve():
        raise StoreError(
            f"the store was made in another place, its artifacts lie under {found.artifact_location}; delete it and "
            "run `headcount track`, the run folders have everything"
        )
    return str(found.experiment_id)
