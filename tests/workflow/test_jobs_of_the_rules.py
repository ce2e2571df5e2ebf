"""What `headcount.jobs` says the workflow will do is what the Snakefile does: jobs of each rule, order, priorities."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headcount.config import read
from headcount.jobs import PRIORITY, jobs
from headcount.registry import names

ROOT = Path(__file__).parents[2]


def test_priorities_are_those_of_the_rules():
    found: dict[str, int] = {}
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        rule = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if begin := re.match(r"(?:rule|use rule \w+ as) (\w+)", line):
                rule = begin[1]
            elif level := re.match(r"    priority: (\d+)", line):
                found[rule] = int(level[1])
    assert found == PRIORITY


@pytest.mark.workflow
@pytest.mark.parametrize("config", ["smoke.yaml", "behnke2020-student.yaml"])
def test_the_workflow_has_these_jobs(snakemake, tmp_path: Path, config: str):
    path = ROOT / "configs" / config
    listed = jobs(read(ROOT / "config.yaml", path))
    dry = snakemake(tmp_path, "--dry-run", "--configfile", str(path)).stdout
    counted = {rule: int(count) for rule, count in re.findall(r"^(\w+)\s+(\d+)\s*$", dry, flags=re.MULTILINE)}
    drawn = set(names("figures")) | {"all", "total"}
    expected: dict[str, int] = {}
    for job in listed.values():
        expected[job.rule] = expected.get(job.rule, 0) + (job.rule != "figures")
    assert {rule: count for rule, count in counted.items() if rule not in drawn} == {
        rule: count for rule, count in expected.items() if count
    }


@pytest.mark.workflow
def test_the_workflow_waits_for_the_same_rules(snakemake, tmp_path: Path):
    path = ROOT / "configs" / "smoke.yaml"
    listed = jobs(read(ROOT / "config.yaml", path))
    ours = {(listed[parent].rule, job.rule) for job in listed.values() for parent in job.parents}
    graph = snakemake(tmp_path, "--rulegraph", "--configfile", str(path)).stdout
    rules = dict(re.findall(r'(\d+)\[label = "(\w+)"', graph))
    drawn = set(names("figures")) | {"all"}
    edges = [(rules[start], rules[end]) for start, end in re.findall(r"(\d+) -> (\d+)", graph)]
    theirs = {edge for edge in edges if not drawn & set(edge)}
    ours = {edge for edge in ours if "figures" not in edge}
    assert ours <= theirs
    assert {start for start, _ in theirs - ours} == {"prepare"}  # read again, behind a training
