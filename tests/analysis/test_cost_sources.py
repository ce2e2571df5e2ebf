"""Which source of seconds per update wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headcount import estimate, plan
from headcount.analysis.rates import Rates
from headcount.analysis.sources import GPU_SHARE, GUESS, Places, Sources, read
from headcount.config import parse
from headcount.errors import UserError

RUNS = plan.runs(parse({}))
BASELINE, TICKET = RUNS["baseline-s1"], RUNS["ticket-18-s1"]
MODEL = estimate.model_of(BASELINE, RUNS, 4000)


def told(seconds: float, run: Any = BASELINE, model: dict[str, Any] = MODEL) -> Rates:
    rates = Rates()
    rates.add(run, model, seconds)
    return rates


def test_the_best_source_wins_and_is_named():
    wider = {**MODEL, "width": 256}
    sources = {
        "own": told(1.0),
        "others": told(2.0),
        "now": told(3.0),
        "committed": told(4.0, model=wider),
    }
    names = ["this study", "other studies", "measured now", "committed tables", GUESS]
    for name in names:
        seconds, source = Sources(**sources, flops_per_second=1e9).seconds_per_update(BASELINE, MODEL)
        assert source == name
        if sources:
            first = next(iter(sources))
            scale = 1.0
            if first == "committed":
                scale = estimate.flops_per_update(BASELINE, MODEL) / estimate.flops_per_update(BASELINE, wider)
            assert seconds == pytest.approx({"own": 1, "others": 2, "now": 3, "committed": 4}[first] * scale)
            del sources[first]
    assert seconds == estimate.flops_per_update(BASELINE, MODEL) / 1e9


def test_a_training_of_the_same_stage_elsewhere_beats_another_stage_here():
    sources = Sources(own=told(1.0), others=told(2.0, TICKET))
    assert sources.seconds_per_update(TICKET, MODEL) == (pytest.approx(2.0), "other studies")
    assert Sources(own=told(1.0), now=told(2.0)).seconds_per_update(TICKET, MODEL)[1] == "this study"


def test_what_was_measured_now_is_known_by_its_shape_alone():
    assert Sources(now=told(1.0)).known(TICKET, MODEL) is None
    assert Sources(now=told(1.0)).seconds_per_update(TICKET, MODEL)[1] == "measured now"


def places(folder: Path) -> Places:
    return Places(folder / "results", folder / "docs", folder / "config.yaml", folder / "configs")


def test_a_gpu_is_guessed_from_its_peak_and_from_nothing_else(tmp_path: Path):
    with pytest.raises(UserError, match="--peak-tflops"):
        read(places(tmp_path), "default", "cuda", None).seconds_per_update(BASELINE, MODEL)
    seconds, source = read(places(tmp_path), "default", "cuda", 100.0).seconds_per_update(BASELINE, MODEL)
    assert source == GUESS
    assert seconds == pytest.approx(estimate.flops_per_update(BASELINE, MODEL) / (GPU_SHARE * 100e12))
    on_cpu, _ = read(places(tmp_path), "default", "cpu", 100.0).seconds_per_update(BASELINE, MODEL)
    assert on_cpu == pytest.approx(estimate.cpu_seconds(BASELINE, 4000, MODEL) / estimate.updates(BASELINE))


def test_a_damaged_study_is_named_and_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    broken = tmp_path / "results" / "broken" / "runs" / "baseline-s1"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    (tmp_path / "docs" / "old").mkdir(parents=True)
    (tmp_path / "docs" / "old" / "runs.csv").write_text("run,updates,train_seconds,parameters\n")
    sources = read(places(tmp_path), "default", "cpu", None)
    assert (sources.own.runs, sources.others.runs, sources.committed.runs) == (0, 0, 0)
    assert "results/broken tells nothing" in caplog.text
    assert "config.yaml: no such config file" in caplog.text
