"""The verb `cost`: what people read and what machines read agree, and every figure has a source."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import headcount
from tiny_settings import TINY

from headcount import chores, estimate, plan
from headcount.analysis.sources import Places
from headcount.config import Study, parse
from headcount.jobs import jobs
from headcount.stages.cost import cost, print_cost


def places(folder: Path) -> Places:
    return Places(folder / "results", folder / "docs", folder / "config.yaml", folder / "configs")


def costs(study: Study, folder: Path, **options: Any) -> dict[str, Any]:
    return cost(study, places(folder), **{"device": "cpu", "workers": 2, **options})


def finish(folder: Path, study: Study, run: str, seconds_per_update: float) -> None:
    """Leave what a finished training leaves, as far as its cost is concerned."""
    planned = plan.runs(study)[run]
    out = folder / "results" / study.study / "runs" / run
    out.mkdir(parents=True)
    (out / "run.yaml").write_text(yaml.safe_dump(planned.settings, allow_unicode=True))
    updates = estimate.updates(planned)
    record = {"status": "finished", "updates": updates, "seconds": seconds_per_update * updates, "device": "cpu"}
    (out / "run.json").write_text(json.dumps(record))
    shape = {"vocabulary": study.subword.vocabulary, **study.model.model_dump(), "normalisers": {}, "kept": {}}
    (out / "model.json").write_text(json.dumps(shape))


def stages(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {stage["stage"]: stage for stage in values["stages"]}


def test_the_total_is_the_sum_of_all_jobs(tmp_path: Path):
    study = parse(TINY)
    values = costs(study, tmp_path)
    listed = jobs(study)
    assert values["total"]["jobs"] == len(listed) == sum(stage["jobs"] for stage in values["stages"])
    assert set(stages(values)) == {job.rule for job in listed.values()}
    assert values["total"]["updates"] == sum(map(estimate.updates, plan.runs(study).values()))
    assert values["total"]["cpu_hours"] == pytest.approx(sum(stage["hours"] for stage in values["stages"]))
    assert values["total"]["bytes"] == sum(stage["bytes"] for stage in values["stages"])
    critical = values["critical_path"]
    assert critical["hours"] == pytest.approx(sum(stage["critical_hours"] for stage in values["stages"]))
    assert critical["jobs"][0].startswith("prepare")
    used = {name for stage in values["stages"] for name in stage["sources"]}
    assert used == set(values["sources"]) == {"guess", "rate"}


def test_more_workers_take_less_wall_time_down_to_the_critical_path(tmp_path: Path):
    walls = [costs(parse(TINY), tmp_path, workers=workers)["total"]["wall_hours"] for workers in (1, 2, 1000)]
    values = costs(parse(TINY), tmp_path)
    assert walls[0] == pytest.approx(values["total"]["cpu_hours"])
    assert walls[0] > walls[1] > walls[2]
    assert walls[2] == pytest.approx(values["critical_path"]["hours"])


def test_a_finished_training_replaces_the_guess(tmp_path: Path):
    study = parse({**TINY, "methods": []})
    finish(tmp_path, study, "baseline-s1", 7.0)
    values = costs(study, tmp_path)
    stage = stages(values)["train_baseline"]
    assert stage["seconds_per_update"] == pytest.approx(7.0)
    assert stage["sources"] == {"this study": 1}
    assert stage["hours"] == pytest.approx((7.0 * TINY["training"]["updates"] + chores.START_SECONDS) / 3600)
    assert values["finished_trainings"] == 1
    elsewhere = costs(parse({**TINY, "methods": [], "study": "new"}), tmp_path)
    assert stages(elsewhere)["train_baseline"]["sources"] == {"other studies": 1}


def test_only_shapes_of_which_nothing_is_known_are_measured(tmp_path: Path):
    study = parse({**TINY, "methods": ["entmax", "lottery"]})
    finish(tmp_path, study, "baseline-s1", 7.0)
    asked: list[str] = []

    def measure(model: dict[str, Any], training: dict[str, Any]) -> tuple[float, int]:
        assert training["updates"] == TINY["training"]["updates"]
        asked.append(model["normalisers"]["encoder"])
        return 3.0, 11

    values = costs(study, tmp_path, measure=measure)
    assert asked == ["entmax15", "entmax_alpha"]
    assert stages(values)["train_entmax"]["seconds_per_update"] == pytest.approx(3.0)
    assert stages(values)["train_ticket"]["sources"] == {"this study": 1}
    assert "22 updates of 2 shapes" in values["sources"]["measured now"]


def test_jobs_that_ran_before_take_what_they_took_and_others_like_them_too(tmp_path: Path):
    study = parse({**TINY, "methods": ["entmax"]})
    logs = tmp_path / "results" / "tiny" / "logs" / "translate"
    logs.mkdir(parents=True)
    for run, seconds in {"baseline-s1": 40, "entmax15-s1": 60}.items():
        (logs / f"{run}.benchmark.tsv").write_text(f"s\th:m:s\n{seconds}\t0:00:40\n")
    stage = stages(costs(study, tmp_path))["translate"]
    assert stage["hours"] == pytest.approx((40 + 60 + 50) / 3600)
    assert stage["sources"] == {"own logs": 3}


def test_the_size_of_a_prepared_corpus_is_looked_up(tmp_path: Path):
    study = parse(TINY)
    (tmp_path / "results" / "tiny" / "data" / study.corpus).mkdir(parents=True)
    (tmp_path / "results" / "tiny" / "data" / study.corpus / "manifest.json").write_bytes(b"12345")
    assert stages(costs(study, tmp_path))["prepare"]["bytes"] == 5


def test_gpu_hours_are_those_of_the_trainings(tmp_path: Path):
    values = costs(parse(TINY), tmp_path, device="cuda", peak_tflops=1.0)
    training = [stage["hours"] for stage in values["stages"] if stage["updates"]]
    assert values["total"]["gpu_hours"] == pytest.approx(sum(training))
    rest = sum(stage["hours"] for stage in values["stages"]) - sum(training)
    assert values["total"]["cpu_hours"] == pytest.approx(rest)
    assert "no measurement on a GPU yet" in values["sources"]["guess"]


def test_the_table_says_what_the_json_says(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    values = costs(parse(TINY), tmp_path)
    print_cost(values)
    text = capsys.readouterr().out
    rows = {cells[0]: cells for line in text.splitlines() if len(cells := re.split(r"\s*│\s*", line.strip("│ "))) == 7}
    for stage in values["stages"]:
        cells = rows[stage["stage"]]
        assert int(cells[1]) == stage["jobs"]
        assert int(cells[2].replace(",", "") or 0) == stage["updates"]
        assert cells[6] == ", ".join(stage["sources"])
    assert rows.keys() >= {"total"} or "total" in text
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if line[:1].isalpha())
    assert lines["hours"].startswith(f"{values['total']['cpu_hours']:.2f} CPU-hours")
    assert lines["critical"].endswith(" > ".join(values["critical_path"]["jobs"]))
    assert lines["disk"].startswith(f"{values['total']['bytes'] / 1e9:.1f} GB")
    for name, told in values["sources"].items():
        assert re.search(rf"^{name} +{re.escape(told)}$", text, flags=re.MULTILINE)


def test_the_verb_reads_the_working_folder(tmp_path: Path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(TINY))
    process = headcount("cost", "--json", "--jobs", "5", cwd=str(tmp_path))
    text, _ = process.communicate()
    assert process.returncode == 0, text
    assert json.loads(text) == costs(parse(TINY), tmp_path, workers=5)


def test_nothing_but_a_measurement_needs_torch():
    program = "import sys, headcount.stages.cost; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--configfile", "nowhere.yaml"], "nowhere.yaml: no such config file"),
        (["--configfile", "broken.yaml"], "model.haeds: unknown key; did you mean 'heads'?"),
        (["--device", "cuad"], "--device: 'cuad' is unknown; did you mean 'cuda'?"),
        (["--device", "cuda"], "give the GPU's peak with --peak-tflops"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path: Path, arguments: list[str], message: str):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(TINY))
    (tmp_path / "broken.yaml").write_text("model: {haeds: 4}\n")
    process = headcount("cost", *arguments, cwd=str(tmp_path))
    text, _ = process.communicate()
    assert process.returncode == 2
    assert message in text
    assert text.count("\n") == 1
