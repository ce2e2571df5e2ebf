from __future__ import annotations

import multiprocessing
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from headcount.config import Study, parse
from headcount.errors import UserError
from headcount.plan import runs
from headcount.tracking import address, store
from headcount.tracking.describe import study_note, write_note
from headcount.tracking.view import TAG, view_state


@pytest.mark.parametrize(
    "uri",
    [
        "sqlite:///a/b.db",
        "sqlite:////abs/b.db",
        "http://login:5000",
        "https://x.org/mlflow",
        "postgresql+psycopg2://h/d",
    ],
)
def test_databases_and_servers_are_allowed(uri):
    assert address.resolve(uri) == uri


def test_an_empty_address_is_the_default():
    assert address.resolve("") == "sqlite:///results/mlflow.db"


@pytest.mark.parametrize(
    "uri",
    [
        "mlruns",
        "./mlruns",
        "/tmp/mlruns",
        "file:///tmp/mlruns",
        "results/mlflow.db",
        "sqlite:///",
        "sqlite:///:memory:",
    ],
)
def test_folders_and_files_are_refused_in_one_line(uri):
    with pytest.raises(UserError) as caught:
        address.resolve(uri)
    message = str(caught.value)
    assert message.startswith(f"tracking.uri: {uri!r}")
    assert address.DEFAULT in message
    assert "\n" not in message


def test_old_folders_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlruns").mkdir()
    (tmp_path / "mlruns" / "old").write_text("data")
    for uri in ("mlruns", f"sqlite:///{tmp_path / 'mlruns'}"):
        with pytest.raises(UserError):
            address.resolve(uri)
    assert [path.name for path in tmp_path.rglob("*")] == ["mlruns", "old"]


def test_an_unknown_scheme_is_refused_without_its_password():
    with pytest.raises(UserError, match="unknown scheme") as caught:
        address.resolve("htp://me:secret@host:5000")
    assert "secret" not in str(caught.value)


def test_importing_needs_neither_mlflow_nor_torch():
    program = "import sys, headcount.tracking.sync; sys.exit(bool({'mlflow', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_training_knows_nothing_of_the_store():
    """So that no job of a cluster makes it, waits for it or dies of it."""
    told = (
        "[name for name in sys.modules if name.partition('.')[0] == 'mlflow' or name.startswith('headcount.tracking')]"
    )
    program = f"import sys, headcount.stages.train; print({told})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def start(barrier, answers, toy, run):
    """Do what a job does: make the store, sync one run."""
    barrier.wait(60)
    try:
        store.init(toy.uri, toy.folder)
        answers.put((run, toy.sync(run).problems))
    except BaseException as error:
        answers.put((run, [repr(error)]))


@pytest.mark.parametrize("there", [False, True], ids=["no store", "a store without the study"])
def test_eight_processes_start_at_once(toy, view, there):
    if not there:
        address.sqlite_path(toy.uri).unlink()
    names = ["baseline-s1", "entmax15-s1", "entmax_alpha-s1", "l0-encoder-0-s1", "l0-encoder-0.01-s1"]
    names += ["round-01-s1", "round-02-s1", "ticket-2-s1"]
    for name in names:
        toy.write(name)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mlflow", "headcount.tracking.sync"])
    barrier, answers = context.Barrier(len(names)), context.Queue()
    starters = [context.Process(target=start, args=(barrier, answers, toy, name)) for name in names]
    for starter in starters:
        starter.start()
    problems = dict(answers.get(timeout=120) for _ in starters)
    for starter in starters:
        starter.join(60)
    assert problems == {name: [] for name in names}
    assert sorted(view.live()) == sorted([*names, "lottery-s1"])
    others = {"headcount/template"} if there else set()
    assert {each.name for each in view.client.search_experiments()} == {"Default", "headcount/toy"} | others
    for name in names:
        assert view.curve(name, "train/loss") == [(20, 0.4), (40, 0.2), (60, 8 / 60)]


def test_init_twice_changes_nothing_and_keeps_what_the_user_wrote(toy, view):
    write_note(toy.study, toy.folder)
    said = store.init(toy.uri, toy.folder)
    assert said == f"{toy.uri}, experiment headcount/toy"
    first = view.client.get_experiment_by_name("headcount/toy")
    assert "how many attention heads" in first.tags[store.NOTE]
    assert first.tags[TAG] == view_state()
    write_note(toy.study.model_copy(update={"seeds": (1, 2, 3)}), toy.folder)
    store.init(toy.uri, toy.folder)
    second = view.client.get_experiment_by_name("headcount/toy")
    assert (second.experiment_id, "seeds 1, 2, 3" in second.tags[store.NOTE]) == (first.experiment_id, True)
    view.client.set_experiment_tag(first.experiment_id, store.NOTE, "my own words")
    store.init(toy.uri, toy.folder)
    assert view.client.get_experiment_by_name("headcount/toy").tags[store.NOTE] == "my own words"


def test_the_note_tells_of_every_method(toy):
    everything = parse({"methods": list(get_args(get_args(Study.model_fields["methods"].annotation)[0]))})
    assert len(everything.methods) > 3
    note = study_note(everything)
    assert {run.method for run in runs(everything).values()} - {"entmax15", "entmax_alpha"} <= set(
        re.findall(r"\w+", note)
    )


def test_no_note_or_view_exceeds_what_old_servers_hold(toy):
    assert len(study_note(toy.study)) < 5000
    assert len(view_state()) < 5000


def test_artifacts_lie_beside_the_database_whatever_the_folder_is_called(tmp_path, template, monkeypatch, toy):
    odd = tmp_path / "über uns #1"
    (odd / "results").mkdir(parents=True)
    shutil.copy(template, odd / "results" / "mlflow.db")
    monkeypatch.chdir(odd)
    toy.folder = Path("results/toy")
    toy.uri = ""
    toy.write("baseline-s1")
    assert toy.sync().problems == []
    assert list(odd.glob("results/mlartifacts/toy/*/artifacts/run.yaml"))
    assert sorted(path.name for path in odd.iterdir()) == ["results"]


def test_a_store_from_another_place_is_refused(toy, tmp_path):
    store.init(toy.uri, toy.folder)
    moved = tmp_path / "copy" / "mlflow.db"
    moved.parent.mkdir()
    shutil.copy(str(address.sqlite_path(toy.uri)), moved)
    with pytest.raises(UserError, match=r"made in another place.*delete it"):
        store.init(f"sqlite:///{moved}", toy.folder)


def test_a_study_that_was_made_through_a_server_stays_with_it(toy, view):
    view.client.create_experiment("headcount/toy", "mlflow-artifacts:/1")
    with pytest.raises(UserError, match=r"set tracking.uri to that server"):
        store.init(toy.uri, toy.folder)


def test_a_deleted_experiment_comes_back(toy, view):
    toy.write("baseline-s1")
    toy.sync()
    toy.write("baseline-s1", seconds=5.0)
    assert toy.sync().superseded == ["baseline-s1"]
    view.client.delete_experiment(view.client.get_experiment_by_name("headcount/toy").experiment_id)
    assert toy.sync().unchanged == ["baseline-s1"]
    assert list(view.live()) == ["baseline-s1"]


def test_a_foreign_or_damaged_file_is_named(toy):
    database = address.sqlite_path(toy.uri)
    assert database
    database.write_bytes(b"no database " * 100)
    with pytest.raises(UserError, match="no SQLite database"):
        store.init(toy.uri, toy.folder)
    with pytest.raises(UserError, match="no SQLite database"):
        store.page("toy", toy.uri)
    database.unlink()
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    with pytest.raises(UserError, match="not one of MLflow"):
        store.init(toy.uri, toy.folder)


def test_an_old_schema_is_told_with_the_command(toy):
    with sqlite3.connect(str(address.sqlite_path(toy.uri))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")
    with pytest.raises(UserError, match="mlflow db upgrade sqlite:///"):
        store.init(toy.uri, toy.folder)


def test_the_page_opens_the_study_in_the_right_view(toy, view):
    with pytest.raises(UserError, match="headcount track"):
        store.page("toy", toy.uri)
    store.init(toy.uri, toy.folder)
    number = view.client.get_experiment_by_name("headcount/toy").experiment_id
    address = f"http://127.0.0.1:5001/#/experiments/{number}/runs?workflowType=machine_learning"
    assert store.page("toy", toy.uri, 5001) == f"{address}&viewStateShareKey=headcount"
    view.client.delete_experiment_tag(number, TAG)
    assert store.page("toy", toy.uri, 5001) == address


def test_the_page_of_a_store_that_is_not_there_makes_nothing(tmp_path):
    with pytest.raises(UserError, match="nothing tracked yet"):
        store.page("toy", f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert list(tmp_path.iterdir()) == []


def test_the_ui_listens_on_this_machine_only():
    command = store.ui_command("sqlite:///results/mlflow.db", 5001)
    assert {"MLFLOW_DISABLE_TELEMETRY=true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false"} < set(command)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--port") + 1] == "5001"
    with pytest.raises(UserError, match="UI of its own"):
        store.ui_command("http://login:5000")


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("(sqlite3.OperationalError) attempt to write a readonly database", "cannot be written"),
        ("(sqlite3.OperationalError) database is locked", "later"),
        ("HTTPConnectionPool: Max retries exceeded with url", "does not answer"),
        ("API request failed with 403: Invalid Host header - possible attack", "--allowed-hosts"),
        ("No module named 'psycopg2'", "driver is missing"),
        ("something\nelse at http://me:secret@host", "something else at http://host"),
    ],
)
def test_faults_are_told_in_one_line_without_passwords(fault, advice):
    line = address.explain("http://me:secret@host:5000", RuntimeError(fault))
    assert line.startswith("http://host:5000: ")
    assert advice in line
    assert "\n" not in line
    assert "secret" not in line
