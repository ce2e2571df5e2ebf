"""A GPU that is not there, or a precision that the device computes slowly, is refused before any work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tiny_settings import TINY

from headcount.config import parse
from headcount.errors import UserError
from headcount.plan import runs
from headcount.stages.check import check
from headcount.stages.train import train
from headcount.train.checkpoint import Rhythm

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="about machines without a GPU")

IMPOSSIBLE = [({"device": "cuda"}, "training.device"), ({"precision": "bfloat16"}, "training.precision")]


@pytest.mark.parametrize(("training", "named"), IMPOSSIBLE)
def test_before_the_first_job_where_the_jobs_run_here(
    training: dict[str, str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    study = parse({**TINY, "training": {**TINY["training"], **training}, "tracking": {"enabled": False}})
    with pytest.raises(UserError, match=f"device: {named}"):
        check(study, cluster=False)
    check(study, cluster=True)  # a login node knows nothing of the GPUs of others


def test_a_cpu_asked_for_by_name_is_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    training = {**TINY["training"], "device": "cpu", "precision": "bfloat16"}
    study = parse({**TINY, "training": training, "tracking": {"enabled": False}})
    with pytest.raises(UserError, match=r"training\.precision: bfloat16"):
        check(study, cluster=True)


@pytest.mark.parametrize(("training", "named"), IMPOSSIBLE)
def test_the_job_itself_refuses_before_it_reads_anything(training: dict[str, str], named: str, tmp_path: Path):
    run = runs(parse({**TINY, "training": {**TINY["training"], **training}}))["baseline-s1"]
    nowhere = tmp_path / "nowhere"
    with pytest.raises(UserError, match=named):
        train(run.settings, code="code", data=nowhere, out=tmp_path / "run", parents=[], rhythm=Rhythm(10, 1e6))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"
