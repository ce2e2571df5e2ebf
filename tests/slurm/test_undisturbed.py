"""A whole study, every stage of training once, as jobs of SLURM."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from one_node import OneNode
from submitted import HERE, ROOT, Workflow

from headcount.config import read
from headcount.plan import runs
from headcount.stages.train import BEGINNINGS

pytestmark = pytest.mark.slurm


def test_every_stage_runs_as_one_job_with_the_gpu_it_asks_for(cluster: OneNode, tmp_path: Path):
    planned = runs(read(ROOT / "config.yaml", HERE / "every_stage.yaml"))
    assert {run.stage for run in planned.values()} == set(BEGINNINGS)
    workflow = Workflow(tmp_path, "every_stage.yaml")
    assert workflow.status(1500) == 0, workflow.said()[-5000:]
    assert cluster.jobs() == []

    study = tmp_path / "results/every-stage"
    name = (study / "logs/slurm-run").read_text(encoding="utf-8").strip()
    shown = [line for line in cluster.ask("scontrol", "show", "job", "--oneliner").splitlines() if name in line]
    jobs = {job["Comment"]: job for job in (dict(re.findall(r"(\w+)=(\S*)", line)) for line in shown)}
    assert len(jobs) == len(shown)  # nothing was submitted twice
    assert {job["JobState"] for job in jobs.values()} == {"COMPLETED"}
    for run in planned.values():
        job = jobs[f"rule_{run.stage}_wildcards_{run.run}"]
        assert job["TresPerJob"] == "gres:gpu:1"
        assert job["Partition"] == "gpu"  # chosen by the limits of partitions.yaml
        assert (job["MinMemoryNode"], job["NumCPUs"]) == ("16000M", "4")
        record = json.loads((study / "runs" / run.run / "run.json").read_text(encoding="utf-8"))
        assert (record["status"], record["attempts"], record["slurm_job"]) == ("finished", 1, job["JobId"])
    plain = jobs["rule_record_wildcards_baseline-s1"]
    assert "TresPerJob" not in plain
    assert plain["Partition"] == "cpu"
    assert not [
        comment for comment in jobs if comment.startswith(("rule_score", "rule_analyse"))
    ]  # made beside Snakemake
    assert (study / "tracked.json").is_file()
