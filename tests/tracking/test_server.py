"""One real server over HTTP, started as `make ui` starts it."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request

import pytest

from headcount.tracking import store

START_SECONDS = 120


@pytest.fixture(scope="module")
def server(template, tmp_path_factory):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    (folder / "mlflow.db").write_bytes(template.read_bytes())
    log = folder / "server.log"
    with log.open("w") as out:
        command = store.ui_command(f"sqlite:///{folder / 'mlflow.db'}", port)
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
        address = f"http://127.0.0.1:{port}"
        for _ in range(START_SECONDS * 5):
            try:
                assert urllib.request.urlopen(f"{address}/health", timeout=5).read() == b"OK"
                break
            except OSError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.2)
        yield address
        process.terminate()
        process.wait(30)


@pytest.fixture
def toy(bare, server):
    bare.uri = server
    bare.folder.mkdir(parents=True)
    return bare


def test_a_study_over_http(toy, view, server, tmp_path):
    store.init(toy.uri, toy.study)
    store.init(toy.uri, toy.study)
    toy.write("baseline-s1", "running", 40)
    toy.write("round-01-s1")
    (toy.folder / "tables").mkdir()
    (toy.folder / "tables" / "runs.csv").write_text("run,bleu\nbaseline-s1,20.5\n")
    first = toy.sync()
    assert (sorted(first.created), first.problems) == (["baseline-s1", "lottery-s1", "round-01-s1", "summary"], [])
    assert sorted(toy.sync().unchanged) == sorted(first.created)
    toy.journal("baseline-s1", 40, 4000)
    toy.record("baseline-s1", "finished", 4000)
    second = toy.sync("baseline-s1")
    assert (second.updated, second.problems) == (["baseline-s1"], [])
    assert view.curve("baseline-s1", "train/loss") == [(update, 8 / update) for update in range(20, 4001, 20)]
    assert view.live()["baseline-s1"].info.status == "FINISHED"
    # files went through the server, none was written where the client runs
    assert view.files("summary", "tables") == ["tables/runs.csv"]
    assert not (tmp_path / "results" / "mlartifacts").exists()
    assert store.page("toy", toy.uri).startswith(f"{server}/#/experiments/")
    # changed settings
    run = toy.folder / "runs" / "baseline-s1" / "run.yaml"
    run.write_text(run.read_text() + "more: 1\n")
    assert toy.sync("baseline-s1").superseded == ["baseline-s1"]
    assert toy.sync("baseline-s1").unchanged == ["baseline-s1"]
