"""The graph of every shipped study, on one machine and on a cluster, without running a job."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headcount.config import read
from headcount.plan import runs

ROOT = Path(__file__).parents[2]
CONFIGS = [None, *sorted((ROOT / "configs").glob("*.yaml"))]

pytestmark = pytest.mark.workflow


def jobs(output: str) -> dict[str, int]:
    """Read the job table of a dry run: rule -> number of jobs."""
    return {rule: int(count) for rule, count in re.findall(r"^(\w+)\s+(\d+)\s*$", output, flags=re.MULTILINE)}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name if path else "config.yaml")
@pytest.mark.parametrize("profile", ["default", "slurm"])
def test_every_study_has_a_whole_graph(snakemake, tmp_path: Path, config: Path | None, profile: str):
    arguments = ["--dry-run"]
    if config:
        arguments += ["--configfile", str(config)]
    if profile == "slurm":
        arguments += ["--workflow-profile", str(ROOT / "profiles" / "slurm")]
    done = snakemake(tmp_path, *arguments)
    assert done.returncode == 0, done.stdout[-3000:]
    planned = runs(read(ROOT / "config.yaml", *([config] if config else [])))
    listed = jobs(done.stdout)
    for stage in {run.stage for run in planned.values()}:
        assert listed[stage] == sum(run.stage == stage for run in planned.values())
    assert listed["translate"] == listed["score"] == sum(run.trains_a_model for run in planned.values())
    assert not (tmp_path / "results").exists()


def test_a_fault_in_the_settings_is_one_clear_message(snakemake, tmp_path: Path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("model:\n  haeds: 4\ntraining:\n  updates: -1\n")
    done = snakemake(tmp_path, "--dry-run", "--configfile", str(broken))
    assert done.returncode != 0
    assert "model.haeds: unknown key; did you mean 'heads'?" in done.stdout
    assert "training.updates: -1" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_study_that_cannot_run_is_refused_before_its_first_job(snakemake, tmp_path: Path):
    broken = tmp_path / "files.yaml"
    broken.write_text("data:\n  source: files\n  files:\n    tsv: nowhere.tsv\ntracking:\n  enabled: false\n")
    done = snakemake(tmp_path, "--configfile", str(broken), "--cores", "1")
    assert done.returncode != 0
    assert "nowhere.tsv" in done.stdout
    assert not list(tmp_path.glob("results/*/data"))
    assert not list(tmp_path.glob("results/*/runs"))


def test_the_rule_graph_in_the_readme_is_current(snakemake, tmp_path: Path):
    drawn = (ROOT / "docs" / "img" / "rulegraph.svg").read_text(encoding="utf-8")
    graph = snakemake(tmp_path, "claims", "--rulegraph").stdout
    rules = dict(re.findall(r'(\d+)\[label = "(\w+)"', graph))
    edges = {f"{start}&#45;&gt;{end}" for start, end in re.findall(r"(\d+) -> (\d+)", graph)}
    assert set(rules.values()) == set(re.findall(r"<text[^>]*>(\w+)</text>", drawn)), "run `make rulegraph`"
    assert len(edges) == drawn.count('class="edge"'), "run `make rulegraph`"


def test_the_rhythm_of_the_checkpoints_reaches_the_jobs_beside_their_parameters(snakemake, tmp_path: Path):
    rules = tmp_path / "Snakefile"
    rules.write_text(
        f"configfile: {str(ROOT / 'config.yaml')!r}\n"
        f"include: {str(ROOT / 'workflow' / 'rules' / 'common.smk')!r}\n"
        'print("SEEN", os.environ["HEADCOUNT_CHECKPOINTS"])\n'
        'rule all:\n    output: "x"\n    shell: "touch x"\n'
    )
    mine = tmp_path / "mine.yaml"
    mine.write_text("checkpoints: {every_updates: 7, every_seconds: 60}\n")
    done = snakemake(tmp_path, "--snakefile", str(rules), "--configfile", str(mine), "--dry-run")
    assert 'SEEN {"every_updates": 7, "every_seconds": 60}' in done.stdout
