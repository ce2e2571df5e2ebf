"""The profiles: no stage is forgotten, every attempt gets more, and a site adds its own values without a copy."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from headcount.stages.train import BEGINNINGS

ROOT = Path(__file__).parents[2]
RULES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")))


def profile(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "profiles" / name / "profile.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def asked() -> dict[str, dict[str, Any]]:
    """Return what the profile asks for, by rule."""
    return profile("slurm")["set-resources"]


def test_every_stage_of_training_asks_for_gpu_memory_and_time(asked: dict[str, dict[str, Any]]):
    for stage in BEGINNINGS:
        assert {"gpu", "cpus_per_task", "mem_mb", "runtime"} <= set(asked[stage]), stage
        assert asked[stage]["gpu"] == 1


def test_the_profile_names_rules_that_exist(asked: dict[str, dict[str, Any]]):
    rules = set(re.findall(r"^rule (\w+):|^use rule \w+ as (\w+) with:", RULES, flags=re.MULTILINE))
    assert set(asked) <= {name for pair in rules for name in pair}


def test_memory_and_time_grow_with_each_attempt(asked: dict[str, dict[str, Any]]):
    for request in (*asked.values(), profile("slurm")["default-resources"]):
        assert request["mem_mb"].startswith("attempt * ")
        assert request["runtime"].startswith("attempt * ")


def test_retries_stand_in_the_profile_and_in_no_rule():
    assert profile("slurm")["retries"] > 0
    assert not re.search(r"^\s*retries:", RULES, flags=re.MULTILINE)  # they would run inside one allocation


def test_the_shared_profile_holds_no_value_of_a_site(asked: dict[str, dict[str, Any]]):
    keys = {key for request in (*asked.values(), profile("slurm")["default-resources"]) for key in request}
    assert not {"slurm_partition", "slurm_account", "slurm_extra", "qos", "constraint"} & keys
    assert not {"slurm-partition-config", "slurm-qos", "slurm-reservation"} & set(profile("slurm"))


def test_the_example_of_a_site_loses_nothing_of_the_shared_profile():
    """A key of the overlay replaces the shared one as a whole."""
    site, shared = profile("site.example"), profile("slurm")
    for key in set(site) & set(shared):
        assert shared[key].items() <= site[key].items()


def test_the_overlay_is_ignored_by_git():
    done = subprocess.run(["git", "check-ignore", "profiles/site/profile.yaml"], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.workflow
def test_a_study_is_planned_with_the_overlay(snakemake, tmp_path: Path):
    overlay = ["--profile", str(ROOT / "profiles/slurm"), "--workflow-profile", str(ROOT / "profiles/site.example")]
    done = snakemake(tmp_path, *overlay, "--dry-run")
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^train_baseline\s+\d", done.stdout, flags=re.MULTILINE)
