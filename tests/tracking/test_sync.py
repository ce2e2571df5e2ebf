from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from headcount.tracking import address, store, sync

RUN = "baseline-s1"


def change_settings(folder, **training):
    settings = yaml.safe_load((folder / "run.yaml").read_text())
    settings["training"] |= training
    (folder / "run.yaml").write_text(yaml.safe_dump(settings))


def test_a_second_sync_adds_nothing(toy, view):
    for name in (RUN, "l0-encoder-0.01-s1"):
        toy.write(name)
    first = toy.sync()
    assert (sorted(first.created), first.exit_code) == ([RUN, "l0-encoder-0.01-s1"], 0)
    before = view.curve(RUN, "train/loss")
    second = toy.sync()
    assert (sorted(second.unchanged), second.points, second.exit_code) == (sorted(first.created), 0, 0)
    assert view.curve(RUN, "train/loss") == before == [(20, 0.4), (40, 0.2), (60, 8 / 60)]
    assert view.deleted() == []
    assert sorted(view.files(RUN)) == ["heads.json", "run.json", "run.yaml", "score.json"]


def test_a_run_is_described_by_tags_params_and_scores(toy, view):
    toy.write("l0-encoder-0.01-s1")
    toy.sync()
    run = view.live()["l0-encoder-0.01-s1"]
    assert run.info.status == "FINISHED"
    assert (run.info.start_time, run.info.end_time) == (1_700_000_000_000, 1_700_000_060_000)
    assert run.data.tags["headcount.run"] == "l0-encoder-0.01-s1"
    assert run.data.tags["paper"] == "voita2019"
    assert run.data.tags["mlflow.source.git.commit"] == "0123abc"
    assert run.data.params["l0.penalty"] == "0.01"
    assert run.data.metrics["score/bleu"] == 20.5
    assert run.data.metrics["heads/total"] == 3


def test_a_resumed_run_continues_its_curve(toy, view):
    folder = toy.write(RUN, "running", 60)
    assert toy.sync(RUN).created == [RUN]
    assert view.live()[RUN].info.status == "RUNNING"
    toy.record(RUN, "interrupted", 60)
    toy.sync(RUN)
    assert view.live()[RUN].info.status == "KILLED"
    # back to the checkpoint of update 20, then on at another speed
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    (folder / "journal.jsonl").write_text(lines[0])
    toy.record(RUN, "running", 20, started=time.time())
    assert toy.sync(RUN).updated == [RUN]
    assert view.live()[RUN].info.status == "RUNNING"
    toy.journal(RUN, 20, 100, speed=100.0)
    toy.record(RUN, "finished", 100)
    assert toy.sync(RUN).updated == [RUN]
    assert view.curve(RUN, "train/loss") == [(update, 8 / update) for update in range(20, 101, 20)]
    assert view.curve(RUN, "train/tokens_per_second") == [(20, 900), (40, 900), (60, 900), (80, 100), (100, 100)]
    assert view.curve(RUN, "valid/bleu") == [(40, 4.0), (80, 8.0)]
    assert view.live()[RUN].info.status == "FINISHED"
    assert view.deleted() == []


def test_a_line_that_is_still_being_written_comes_with_the_next_sync(toy, view):
    folder = toy.write(RUN, "running", 40)
    whole = (folder / "journal.jsonl").read_text()
    (folder / "journal.jsonl").write_text(whole[:-20])
    toy.sync(RUN)
    assert view.curve(RUN, "valid/bleu") == []
    (folder / "journal.jsonl").write_text(whole)
    toy.sync(RUN)
    assert view.curve(RUN, "valid/bleu") == [(40, 4.0)]


def test_changed_settings_supersede(toy, view):
    folder = toy.write(RUN, "running")
    toy.sync()
    change_settings(folder, learning_rate=0.5)
    report = toy.sync()
    assert (report.created, report.superseded) == ([RUN], [RUN])
    assert view.live()[RUN].data.params["training.learning_rate"] == "0.5"
    [old] = view.deleted()
    assert (old.info.status, old.data.tags["headcount.superseded"]) == ("KILLED", "true")
    assert toy.sync().unchanged == [RUN]


def test_the_same_number_in_another_form_is_no_change(toy):
    folder = toy.write(RUN)
    toy.sync()
    settings = yaml.safe_load((folder / "run.yaml").read_text())
    settings["training"]["clip_norm"] = int(settings["training"]["clip_norm"])
    (folder / "run.yaml").write_text(yaml.safe_dump(settings))
    report = toy.sync()
    assert (report.updated, report.superseded, report.points) == ([RUN], [], 0)


def test_another_training_with_the_same_settings_supersedes(toy, view):
    folder = toy.write(RUN)
    toy.sync()
    text = (folder / "journal.jsonl").read_text()
    (folder / "journal.jsonl").write_text(text.replace('"loss": 0.2', '"loss": 0.3'))
    assert toy.sync().superseded == [RUN]
    assert view.curve(RUN, "train/loss") == [(20, 0.4), (40, 0.3), (60, 8 / 60)]


def test_a_finished_run_that_is_shorter_than_what_was_logged_supersedes(toy, view):
    toy.write(RUN, "running", 100)
    toy.sync()
    toy.write(RUN, "finished", 60)
    assert toy.sync().superseded == [RUN]
    assert view.curve(RUN, "train/loss")[-1][0] == 60


def test_another_sample_of_the_machine_is_no_other_training(toy, view):
    folder = toy.write(RUN, "running")
    with (folder / "usage.jsonl").open("a") as handle:
        handle.write('{"time": 100.0, "cpu_percent": 90.0}\n{"time": 130.2, "cpu_percent": 95.0}\n')
        handle.flush()
        toy.sync()
        handle.write('{"time": 130.7, "cpu_percent": 20.0}\n{"time": 160.7, "cpu_percent": 80.0}\n')
    toy.record(RUN, "finished")
    assert toy.sync().superseded == []
    assert view.curve(RUN, "system/cpu_percent") == [(0, 90.0), (30, 95.0), (60, 80.0)]


def test_new_scores_replace_old_ones(toy, view):
    folder = toy.write(RUN)
    toy.sync()
    (folder / "score.json").write_text(json.dumps({"bleu": 21.0}))
    assert toy.sync().superseded == [RUN]
    assert view.curve(RUN, "score/bleu") == [(0, 21.0)]


@pytest.mark.parametrize(
    ("recorded", "status"), [("failed", "FAILED"), ("killed", "KILLED"), ("interrupted", "KILLED")]
)
def test_ends_are_told(toy, view, recorded, status):
    toy.write(RUN, recorded)
    toy.sync()
    assert view.live()[RUN].info.status == status
    assert view.live()[RUN].info.end_time == 1_700_000_060_000


def test_a_run_that_was_killed_without_a_word_is_closed(toy, view):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    toy.write(RUN, "running", pid=process.pid)
    toy.sync()
    assert view.live()[RUN].info.status == "RUNNING"
    process.kill()
    process.wait()
    assert toy.sync().updated == [RUN]
    assert view.live()[RUN].info.status == "KILLED"
    assert view.live()[RUN].info.end_time > 1_700_000_060_000


def test_a_flag_goes_when_its_cause_is_gone(toy, view):
    folder = toy.write(RUN, "running", 40)
    whole = (folder / "journal.jsonl").read_text()
    (folder / "journal.jsonl").write_text(whole.replace('"loss": 0.2', '"loss": "NaN"'))
    toy.sync()
    assert view.live()[RUN].data.tags["non_finite"] == "train/loss at update 40"
    assert view.curve(RUN, "train/loss") == [(20, 0.4)]
    (folder / "journal.jsonl").write_text(whole)
    assert toy.sync().updated == [RUN]
    assert "non_finite" not in view.live()[RUN].data.tags
    assert view.curve(RUN, "train/loss") == [(20, 0.4), (40, 0.2)]


def test_long_parameters_and_odd_names(toy, view):
    folder = toy.write(RUN)
    settings = yaml.safe_load((folder / "run.yaml").read_text())
    settings["kept"] = list(range(2000))
    settings["many"] = {f"key {index}": index for index in range(600)}
    (folder / "run.yaml").write_text(yaml.safe_dump(settings))
    with (folder / "journal.jsonl").open("a") as handle:
        handle.write(json.dumps({"update": 60, "p@5": 1.0, "x[0]": 2.0, "a:b": 3.0, "été": 4.0, "loss": "NaN"}) + "\n")
    assert toy.sync().problems == []
    run = view.live()[RUN]
    assert run.data.params["kept"].startswith("sha256:")
    assert len([key for key in run.data.params if key.startswith("many.")]) == 600
    mapped = {key.rpartition("_")[0]: value for key, value in run.data.metrics.items()}
    assert [mapped[f"train/{name}"] for name in ("p_5", "x_0_", "a_b", "ete")] == [1, 2, 3, 4]
    assert run.data.tags["non_finite"] == "train/loss at update 60"
    assert view.curve(RUN, "train/loss") == [(20, 0.4), (40, 0.2)]
    whole = view.client.download_artifacts(run.info.run_id, "params/kept.txt")
    assert json.loads(Path(whole).read_text()) == list(range(2000))


def test_more_points_than_a_call_may_hold(toy, view):
    toy.write(RUN, updates=20)
    toy.journal(RUN, 20, 20_000)
    assert toy.sync().problems == []
    assert len(view.curve(RUN, "train/loss")) == 1000


def test_rounds_hang_below_their_lottery(toy, view):
    toy.write("round-01-s1")
    assert sorted(toy.sync("round-01-s1").created) == ["lottery-s1", "round-01-s1"]
    toy.write("round-02-s1")
    report = toy.sync("round-02-s1")
    assert (report.created, report.updated) == (["round-02-s1"], ["lottery-s1"])
    live = view.live()
    parents = {live[name].data.tags["mlflow.parentRunId"] for name in ("round-01-s1", "round-02-s1")}
    assert parents == {live["lottery-s1"].info.run_id}
    assert view.curve("lottery-s1", "lottery/heads_total") == [(1, 3), (2, 3)]
    assert "mlflow.parentRunId" not in live["lottery-s1"].data.tags


def test_a_lottery_goes_on_while_a_round_trains(toy, view):
    toy.write("round-01-s1")
    toy.write("round-02-s1", "running", 40)
    toy.sync()
    toy.journal("round-02-s1", 40, 60)
    assert toy.sync("round-02-s1").superseded == []
    assert view.live()["lottery-s1"].info.status == "RUNNING"
    toy.write("round-02-s1")
    report = toy.sync("round-02-s1")
    assert (sorted(report.updated), report.superseded) == (["lottery-s1", "round-02-s1"], [])
    assert view.live()["lottery-s1"].info.status == "FINISHED"


def test_a_new_lottery_takes_its_unchanged_rounds_along(toy, view):
    for name in ("round-01-s1", "round-02-s1"):
        toy.write(name)
    toy.sync()
    change_settings(toy.folder / "runs" / "round-01-s1", updates=7)
    report = toy.sync()
    assert sorted(report.superseded) == ["lottery-s1", "round-01-s1"]
    live = view.live()
    assert live["round-02-s1"].data.tags["mlflow.parentRunId"] == live["lottery-s1"].info.run_id


def test_one_summary_carries_the_results(toy, view):
    toy.write(RUN)
    (toy.folder / "tables").mkdir()
    (toy.folder / "tables" / "runs.csv").write_text("run,bleu\nbaseline-s1,20.5\n")
    assert sorted(toy.sync().created) == [RUN, "summary"]
    (toy.folder / "report.html").write_text("<p>done</p>")
    assert toy.sync().superseded == ["summary"]
    assert sorted(view.files("summary")) == ["report.html", "tables"]
    assert view.files("summary", "tables") == ["tables/runs.csv"]
    assert toy.sync(RUN).unchanged == [RUN]
    assert toy.sync(RUN, "summary").unchanged == [RUN, "summary"]


def test_a_sync_that_was_cut_off_is_completed(toy, view, monkeypatch):
    toy.write(RUN, updates=20)
    toy.journal(RUN, 20, 4000)
    from mlflow import MlflowClient

    send, calls = MlflowClient.log_batch, []

    def fail_at_the_second_batch(self, *args, metrics=(), **rest):
        calls.extend([len(metrics)] if metrics else [])
        if len(calls) == 2:
            raise ConnectionError("the cable was pulled")
        return send(self, *args, metrics=metrics, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_batch", fail_at_the_second_batch)
        report = toy.sync()
    assert report.exit_code == 1
    assert "the cable was pulled" in str(report)
    report = toy.sync()
    assert (report.updated, report.problems) == ([RUN], [])
    assert view.curve(RUN, "train/loss") == [(update, 8 / update) for update in range(20, 4001, 20)]


def test_two_live_runs_of_one_folder_become_one(toy, view):
    toy.write(RUN)
    toy.sync()
    run = view.live()[RUN]
    view.client.create_run(run.info.experiment_id, tags=run.data.tags, run_name=RUN)
    assert toy.sync().superseded == [RUN]
    assert list(view.live()) == [RUN]


def test_an_odd_folder_does_not_hide_the_others(toy, view):
    toy.write(RUN)
    (toy.write("entmax15-s1") / "run.json").write_text("{")
    (toy.write("entmax_alpha-s1") / "heads.json").write_text('{"kept": {"encoder": 7}}')
    (toy.folder / "runs" / "not-begun").mkdir()
    report = toy.sync()
    assert (report.created, len(report.problems), report.exit_code) == ([RUN], 2, 1)
    assert toy.sync("nobody").problems == [f"{toy.folder / 'runs' / 'nobody'}: no such run"]


def test_a_study_that_is_not_there_makes_nothing(toy):
    report = toy.sync()
    assert report.problems == [f"{toy.folder}: no such study"]
    assert not toy.folder.exists()


def fails_in_one_line(toy, capfd, message):
    before = {path: path.stat().st_mtime_ns for path in (toy.folder / "runs").rglob("*")}
    report = toy.sync()
    assert report.exit_code == 1
    assert [message in problem for problem in report.problems] == [True]
    assert str(report) == f"tracking: {report.problems[0]}"
    assert "\n" not in str(report)
    output = capfd.readouterr()
    assert "Traceback" not in output.out + output.err
    assert {path: path.stat().st_mtime_ns for path in (toy.folder / "runs").rglob("*")} == before


def test_a_locked_database(toy, view, capfd, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    toy.write(RUN)
    other = sqlite3.connect(str(address.sqlite_path(toy.uri)))
    other.execute("BEGIN EXCLUSIVE")
    fails_in_one_line(toy, capfd, "another program holds the database")
    other.rollback()
    other.close()
    assert toy.sync().created == [RUN]


def test_another_sync_at_work(toy, capfd, monkeypatch):
    monkeypatch.setattr(sync, "LOCK_SECONDS", 0.1)
    toy.write(RUN)
    lock = f"{address.sqlite_path(toy.uri)}.lock"
    holder = f"import filelock; held = filelock.FileLock({lock!r}); held.acquire(); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        fails_in_one_line(toy, capfd, "another sync has been writing")
        process.communicate(b"\n")
    assert toy.sync().created == [RUN]


@pytest.mark.parametrize(
    ("what", "mode", "message"),
    [("file", 0o444, "the database cannot be written"), ("folder", 0o555, "cannot be locked: ")],
)
def test_a_read_only_store(toy, view, what, mode, message):
    toy.write(RUN, "running", 40)
    toy.sync()
    toy.write(RUN)
    database = address.sqlite_path(toy.uri)
    database.with_name(f"{database.name}.lock").unlink()
    place = database if what == "file" else database.parent
    before = place.stat().st_mode
    place.chmod(mode)
    done = headcount_track(toy)
    place.chmod(before)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.startswith("tracking: ")
    assert done.stderr.count("\n") == 1
    assert toy.sync().updated == [RUN]
    assert view.curve(RUN, "train/loss") == [(20, 0.4), (40, 0.2), (60, 8 / 60)]


def headcount_track(toy):
    """Sync in a process that may not write what is read-only, which root may."""
    ordinary = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*ordinary, sys.executable, "-m", "headcount", "track", "--study", str(toy.folder), "--uri", toy.uri]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_damaged_database(toy, capfd):
    toy.write(RUN)
    address.sqlite_path(toy.uri).write_bytes(b"no database " * 100)
    fails_in_one_line(toy, capfd, "no SQLite database")


def test_a_folder_address(toy, capfd):
    toy.write(RUN)
    toy.uri = "mlruns"
    fails_in_one_line(toy, capfd, "plain folder or file")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")


@pytest.mark.parametrize("listening", [False, True])
def test_a_server_that_is_down_or_hangs(toy, capfd, impatient, listening):
    toy.write(RUN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        toy.uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        if not listening:
            server.close()
        fails_in_one_line(toy, capfd, "does not answer")


def test_no_report_holds_a_password(toy, impatient):
    toy.write(RUN)
    toy.uri = "http://me:secret@127.0.0.1:9"
    report = toy.sync()
    assert report.exit_code == 1
    assert "secret" not in repr(report)


def test_a_report_sums_up_in_one_line(toy):
    report = sync.Report("toy", "http://host", created=["a"], unchanged=["b", "c"], points=1234)
    assert str(report) == "MLflow: study toy: 1 new, 2 unchanged, 1,234 points added (http://host)"
    report.problems.append("odd")
    assert str(report).splitlines()[1:] == ["tracking: odd"]
