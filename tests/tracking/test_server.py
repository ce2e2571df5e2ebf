"""One real MLflow server on a real PostgreSQL, as on a cluster: several jobs at once, and an outage amid them."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from pretended_training import let_end, start, wait_for_updates
from private_postgres import postgres
from toy_study import wait_until

from headcount import plan
from headcount.tracking import store
from headcount.tracking.describe import write_note
from mlflow_server import free_port, serving

pytestmark = pytest.mark.server

JOBS = {"baseline-s1": "alone", "entmax15-s1": "error", "l0-encoder-0.01-s1": "TERM", "round-01-s1": "KILL"}
"""Four concurrent trainings and how each ends the first time."""


@pytest.fixture(scope="module")
def database():
    with postgres() as server:
        yield server


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    command = ["env", "--unset=MLFLOW_SQLALCHEMYSTORE_POOLCLASS", *store.ui_command(database.uri, port)]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    with serving(command, port, folder / "server.log") as address:
        yield address


@pytest.fixture
def toy(bare, server, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    bare.uri = server
    bare.folder.mkdir(parents=True)
    return bare


def track(toy, *arguments):
    """Start the command that copies run folders, in a process of its own as on any node."""
    command = [sys.executable, "-m", "headcount", "track", "--study", str(toy.folder), f"--uri={toy.uri}", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def begin(toy, first, last, ends):
    """Start trainings and, once all write their journals, return them."""
    settings = plan.runs(toy.study)
    folders = {name: toy.folder / "runs" / name for name in ends}
    jobs = {name: start(folders[name], settings[name].settings, first, last, end) for name, end in ends.items()}
    wait_until(lambda: all((folder / "journal.jsonl").exists() for folder in folders.values()))
    return jobs


def finish(jobs, ends):
    for name, job in jobs.items():
        wait_for_updates(job)
        let_end(job, ends[name])


def test_four_jobs_at_once_lose_nothing(toy, view, database):
    write_note(toy.study, toy.folder)
    store.init(toy.uri, toy.folder)
    following = track(toy, "--every", "1")
    try:
        jobs = begin(toy, 0, 400, JOBS)
        said = [track(toy, name) for name in JOBS]  # four clients beside the one that follows
        assert [sync.communicate()[1] for sync in said if sync.wait()] == []
        assert set(view.live()) == {*JOBS, "lottery-s1"}
        database.stop()
        finish(jobs, JOBS)
        assert toy.sync().exit_code == 1
        again = {name: "alone" for name, end in JOBS.items() if end != "alone"}
        jobs = begin(toy, 380, 600, again)
        time.sleep(2)  # the one that follows meets the outage too
        database.start()
        finish(jobs, again)
        wait_until(lambda: {run.info.status for run in view.live().values()} == {"FINISHED"})
    finally:
        following.terminate()
        following.communicate()
    assert set(view.live()) == {*JOBS, "lottery-s1"}
    assert view.deleted() == []
    for name, end in JOBS.items():
        last = 400 if end == "alone" else 600
        assert view.curve(name, "train/loss") == [(update, 8 / update) for update in range(20, last + 1, 20)]
    assert sorted(toy.sync().unchanged) == sorted(view.live())


def test_a_database_without_a_server_keeps_its_artifacts_beside_the_study(toy, database):
    toy.folder, toy.uri = toy.folder.with_name("direct"), database.uri
    toy.write("baseline-s1")
    assert toy.sync().problems == []
    assert list((toy.folder.parent / "mlartifacts" / "direct").glob("*/artifacts/run.yaml"))


def test_a_study_over_http(toy, view, server, tmp_path):
    toy.folder = toy.folder.with_name("other")
    toy.write("baseline-s1", "running", 40)
    toy.write("round-01-s1")
    (toy.folder / "tables").mkdir()
    (toy.folder / "tables" / "runs.csv").write_text("run,bleu\nbaseline-s1,20.5\n")
    before, toy.uri = toy.uri, f"http://127.0.0.1:{free_port()}"
    assert "does not answer" in str(toy.sync())
    toy.uri = before
    first = toy.sync()
    assert (sorted(first.created), first.problems) == (["baseline-s1", "lottery-s1", "round-01-s1", "summary"], [])
    assert sorted(toy.sync().unchanged) == sorted(first.created)
    toy.journal("baseline-s1", 40, 4000)
    toy.record("baseline-s1", "finished", 4000)
    second = toy.sync("baseline-s1")
    assert (second.updated, second.problems) == (["baseline-s1"], [])
    view.study = "other"
    assert view.curve("baseline-s1", "train/loss") == [(update, 8 / update) for update in range(20, 4001, 20)]
    assert view.live()["baseline-s1"].info.status == "FINISHED"
    # files went through the server, none was written where the client runs
    assert view.files("summary", "tables") == ["tables/runs.csv"]
    assert not (tmp_path / "results" / "mlartifacts").exists()
    assert store.page("other", toy.uri).startswith(f"{server}/#/experiments/")
