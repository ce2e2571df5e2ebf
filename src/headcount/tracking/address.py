"""Addresses of MLflow stores: which are allowed, how they are shown, what is said when one cannot be used."""

from __future__ import annotations

import re
from pathlib import Path

from headcount.errors import UserError

DEFAULT = "sqlite:///results/mlflow.db"
"""Used for an empty address."""

SERVERS = ("http", "https")
DATABASES = ("postgresql", "mysql", "mssql")
ALLOWED = f"{DEFAULT} (the default), http://HOST:PORT of an MLflow server, or postgresql://..."


def resolve(uri: str) -> str:
    """Check the address of a store and fill in the default.

    Raises:
        UserError: a folder or file, a database in memory, or an unknown scheme.

    """
    uri = uri.strip() or DEFAULT
    scheme = uri.partition("://")[0].partition("+")[0]
    if scheme in SERVERS or scheme in DATABASES:
        return uri
    path = uri.removeprefix("sqlite:///").partition("?")[0]
    if uri.startswith("sqlite:///") and path not in ("", ":memory:") and not Path(path).is_dir():
        return uri
    if uri.startswith("sqlite:"):
        raise UserError(f"tracking.uri: {uri!r} names no database file; allowed: {ALLOWED}")
    if scheme == "file" or "://" not in uri:
        raise UserError(
            f"tracking.uri: {uri!r} is a plain folder or file, which MLflow no longer accepts; what lies there is left "
            f"alone; allowed: {ALLOWED}"
        )
    raise UserError(f"tracking.uri: {shown(uri)!r} has an unknown scheme; allowed: {ALLOWED}")


def is_server(uri: str) -> bool:
    """Tell whether the address is that of a server, which has a UI of its own and keeps artifacts itself."""
    return uri.partition("://")[0].partition("+")[0] in SERVERS


def artifact_root(database: Path) -> Path:
    """Return where artifacts of a SQLite store lie: `mlartifacts` beside the file."""
    return database.absolute().parent / "mlartifacts"


def artifact_folder(uri: str, study_folder: Path) -> Path | None:
    """Return where a study's artifacts go: beside the SQLite file, else beside the study; None: to the server."""
    database = sqlite_path(uri)
    if is_server(uri):
        return None
    root = artifact_root(database) if database else study_folder.absolute().parent / "mlartifacts"
    return root / study_folder.name


def sqlite_path(uri: str) -> Path | None:
    """Return the file of a SQLite address, None for other stores."""
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]) if uri.startswith("sqlite:///") else None


def shown(uri: str) -> str:
    """Return the address without a password."""
    return re.sub(r"//[^/@]*@", "//", uri)


def explain(uri: str, error: BaseException) -> str:
    """Say in one line what is wrong with the store and what to do."""
    text = " ".join(str(error).split())
    address = shown(uri)
    known = {
        "out-of-date database schema": f"made by an older MLflow; back it up, then run `mlflow db upgrade {address}`",
        "Can't locate revision": "made by a newer MLflow; update mlflow or use another tracking.uri",
        "Invalid Host header": "the server refuses this host name; start it with --allowed-hosts 'NAME:*'",
        "Max retries exceeded": "the server does not answer; start it, then run `headcount track`",
        "Connection refused": "the server does not answer; start it, then run `headcount track`",
        "database is locked": "another program holds the database; run `headcount track` later",
        "readonly database": "the database cannot be written; make the file and its folder writable",
        "unable to open database": "the database cannot be opened; make its folder writable",
        "not a database": "this file is no SQLite database; move it away or change tracking.uri",
        "disk is full": "the disk is full; free some space, then run `headcount track`",
        "No module named": "the database driver is missing; install it (psycopg2-binary for PostgreSQL)",
    }
    for symptom, advice in known.items():
        if symptom.lower() in text.lower():
            return f"{address}: {advice}"
    return f"{address}: {type(error).__name__}: {shown(text)[:300]}"
