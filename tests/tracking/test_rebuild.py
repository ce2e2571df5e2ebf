"""The store is a view: deleted at any moment, one command makes it again from the run folders, equal to what it was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from headcount.tracking import address, store
from headcount.tracking.describe import write_note

RUN = "baseline-s1"
BY_MLFLOW = ("mlflow.user", "mlflow.log-model.history")


def everything(view):
    """Return all that the store holds, with names instead of MLflow's ids."""
    experiment = view.client.get_experiment_by_name("headcount/toy")
    live = view.live()
    names = {run.info.run_id: name for name, run in live.items()}
    told = {}
    for name, run in live.items():
        tags = {key: value for key, value in run.data.tags.items() if key not in BY_MLFLOW}
        if "mlflow.parentRunId" in tags:
            tags["mlflow.parentRunId"] = names[tags["mlflow.parentRunId"]]
        curves = {
            metric: sorted(
                (p.step, p.value, p.timestamp) for p in view.client.get_metric_history(run.info.run_id, metric)
            )
            for metric in run.data.metrics
        }
        root = Path(run.info.artifact_uri.removeprefix("file://"))
        files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        ends = (run.info.status, run.info.start_time, run.info.end_time)
        told[name] = (ends, tags, run.data.params, curves, files)
    return experiment.tags, told


def delete(toy):
    database = address.sqlite_path(toy.uri)
    shutil.rmtree(database.parent / "mlartifacts")
    database.unlink()


def headcount_track(toy):
    command = [sys.executable, "-m", "headcount", "track", "--study", str(toy.folder), f"--uri={toy.uri}"]
    subprocess.run(command, check=True)


def test_one_command_makes_a_deleted_store_again(toy, view):
    write_note(toy.study, toy.folder)
    store.init(toy.uri, toy.folder)
    folder = toy.write(RUN, "running", 60)
    toy.write("round-01-s1")
    toy.sync(RUN, "round-01-s1")
    toy.record(RUN, "interrupted", 60)
    toy.sync(RUN)
    toy.record(RUN, "running", 60, started=1_700_009_000.0, began=1_700_000_000.0)
    toy.sync(RUN)
    toy.journal(RUN, 60, 100)
    samples = [{"time": 1_700_000_000 + 30 * n, "cpu_percent": 90.0 + n, "memory_megabytes": 512.0} for n in range(4)]
    (folder / "usage.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    toy.sync(RUN)
    delete(toy)  # midway: the run still trains
    toy.record(RUN, "finished", 100, started=1_700_009_000.0, began=1_700_000_000.0)
    (folder / "score.json").write_text('{"bleu": 20.5, "suspect": true}')
    toy.write("round-02-s1")
    (toy.folder / "tables").mkdir()
    (toy.folder / "tables" / "runs.csv").write_text("run,bleu\nbaseline-s1,20.5\n")
    toy.sync(RUN)
    toy.sync("round-02-s1")
    assert toy.sync(RUN, "round-01-s1", "round-02-s1", "summary").problems == []
    before = everything(view)
    assert set(before[1]) == {RUN, "round-01-s1", "round-02-s1", "lottery-s1", "summary"}
    assert before[1][RUN][3]["system/cpu_percent"][-1] == (90, 93.0, 1_700_000_090_000)
    assert "how many attention heads" in before[0][store.NOTE]
    delete(toy)
    headcount_track(toy)
    assert everything(view) == before
