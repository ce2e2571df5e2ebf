"""Seconds of an update from finished trainings: of the very run, of those like it, of others by their products."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fake_study import settings, write_study

from headcount import estimate, plan
from headcount.analysis.rates import ANY_SHAPE, SAME_SHAPE, SAME_STAGE, Rates, of_study, of_table
from headcount.config import Study, studies
from headcount.plan import Run

VOCABULARY = 4000


def shapes(study: Study, vocabulary: int = VOCABULARY) -> dict[str, tuple[Run, dict[str, Any]]]:
    runs = plan.runs(study)
    return {name: (run, estimate.model_of(run, runs, vocabulary)) for name, run in runs.items()}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished study in which every training took 0.5 s an update, but some that are named."""
    folder = tmp_path_factory.mktemp("results") / "fake"
    write_study(folder, settings())
    for name, run in plan.runs(settings()).items():
        path = folder / "runs" / name / "run.json"
        each = {"l0-all-0-s1": 2.0, "l0-encoder-0-s1": 1.0}.get(name, 0.5)
        record = json.loads(path.read_text()) | {"seconds": each * estimate.updates(run)}
        path.write_text(json.dumps(record))
    return folder


@pytest.fixture
def rates(there: Path) -> Rates:
    found = Rates()
    of_study(found, there, "cpu")
    return found


def vocabulary(there: Path) -> int:
    return json.loads((there / "runs" / "baseline-s1" / "model.json").read_text())["vocabulary"]


def test_a_finished_run_tells_its_own_seconds(rates: Rates, there: Path):
    known = shapes(settings(), vocabulary(there))
    for name, expected in {"baseline-s1": 0.5, "l0-all-0-s1": 2.0, "round-02-s1": 0.5, "ticket-18-s1": 0.5}.items():
        assert rates.seconds_per_update(*known[name], SAME_STAGE) == pytest.approx(expected), name
    assert rates.runs == len(known)


def test_another_lambda_takes_what_those_of_its_scope_took(rates: Rates, there: Path):
    more = settings(l0={"penalties_encoder": [0.5], "penalties_all": [0.5]})
    known = shapes(more, vocabulary(there))
    assert rates.seconds_per_update(*known["l0-encoder-0.5-s1"], SAME_STAGE) == pytest.approx(0.5)  # the median
    assert rates.seconds_per_update(*known["l0-all-0.5-s1"], SAME_STAGE) == pytest.approx(0.5)


def test_fewer_heads_are_cheaper_as_their_products_are_fewer(rates: Rates, there: Path):
    known = shapes(settings(lottery={"tickets": [9]}), vocabulary(there))
    run, model = known["ticket-9-s1"]
    dense = estimate.flops_per_update(known["baseline-s1"][0], model)
    found = rates.seconds_per_update(run, model, SAME_STAGE)
    assert found is not None
    assert found < 0.5
    assert estimate.flops_per_update(run, model) < dense


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"width": 32}},
        {"model": {"feed_forward": 64}},
        {"training": {"tokens_per_batch": 9}},
        {"training": {"accumulate_batches": 2}},
        {"model": {"attention_dropout": 0.1}},
    ],
    ids=str,
)
def test_another_shape_or_batch_is_not_the_same(rates: Rates, there: Path, changes: dict[str, Any]):
    base = settings().model_dump(mode="json")
    changed = settings(**{key: {**base[key], **value} for key, value in changes.items()})
    run, model = shapes(changed, vocabulary(there))["baseline-s1"]
    assert rates.seconds_per_update(run, model, SAME_SHAPE) is None
    expected = 0.5 * estimate.flops_per_update(run, model)
    old = shapes(settings(), vocabulary(there))["baseline-s1"]
    assert rates.seconds_per_update(run, model, ANY_SHAPE) == pytest.approx(expected / estimate.flops_per_update(*old))


def test_a_stage_that_never_ran_takes_what_others_of_its_shape_took(rates: Rates, there: Path):
    known = shapes(settings(methods=["ranked"]), vocabulary(there))
    run, model = known["ranked-michel-one_shot-36-s1"]
    assert rates.seconds_per_update(run, model, SAME_STAGE) is None
    assert rates.seconds_per_update(run, model, SAME_SHAPE) is not None


def test_runs_on_another_device_and_unfinished_ones_do_not_count(there: Path, tmp_path: Path):
    on_gpu = Rates()
    of_study(on_gpu, there, "cuda")
    assert on_gpu.runs == 0
    (tmp_path / "runs" / "baseline-s1").mkdir(parents=True)
    (tmp_path / "runs" / "baseline-s1" / "run.json").write_text('{"status": "running", "seconds": 3}')
    unfinished = Rates()
    of_study(unfinished, tmp_path, "cpu")
    assert unfinished.runs == 0


def table(path: Path, study: Study, parameters: int) -> Path:
    runs = plan.runs(study)
    rows = [
        {"run": name, "updates": 10, "train_seconds": 20.0, "parameters": parameters} for name in (*runs, "leftover-s1")
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_a_committed_table_counts_only_while_the_config_still_has_its_shape(tmp_path: Path):
    config = tmp_path / "config.yaml"
    config.write_text("methods: [l0]\n")
    study = settings(model={}, training={}, methods=["l0"], l0={})
    run, model = shapes(study)["baseline-s1"]
    right = sum(estimate.parameters(model).values())
    for parameters, runs in ((right, len(plan.runs(study))), (right + 1, 0)):
        rates = Rates()
        of_table(rates, table(tmp_path / "runs.csv", study, parameters), [config])
        assert rates.runs == runs
        expected = None if not runs else pytest.approx(2.0)
        assert rates.seconds_per_update(run, model, SAME_STAGE) == expected
    assert list(studies(study)) == ["en-de"]


def test_tables_of_older_versions_tell_nothing(tmp_path: Path):
    (tmp_path / "runs.csv").write_text("run,train_seconds\nbaseline-s1,3\n")
    rates = Rates()
    of_table(rates, tmp_path / "runs.csv", [tmp_path / "not even read.yaml"])
    assert rates.runs == 0
