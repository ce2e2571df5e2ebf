from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from finished_runs import T, X, Y, finished, lottery

from headcount.analysis.cost import costs


def test_a_ticket_costs_the_rewound_updates_the_rounds_and_its_own(tmp_path: Path) -> None:
    found = costs(lottery(tmp_path, rounds=3))
    assert found["baseline-s1"]["updates_total"] == found["baseline-s1"]["updates"] == T
    assert found["round-2"]["updates"] == Y
    assert found["round-2"]["updates_rounds"] == Y  # the round before
    ticket = found["ticket"]
    assert (ticket["updates"], ticket["updates_rounds"], ticket["updates_total"]) == (T - X, 3 * Y, T + 3 * Y)
    assert ticket["train_seconds_total"] == pytest.approx(10.0 * X / T + 3 * 1.0 + 8.0)


def test_new_weights_repeat_what_the_rounds_had_before_the_rewind(tmp_path: Path) -> None:
    reinit = costs(lottery(tmp_path))["reinit"]
    assert (reinit["updates"], reinit["updates_total"]) == (T, X + 2 * Y + T)


def test_what_prunes_a_trained_model_counts_all_of_it_once(tmp_path: Path) -> None:
    dense = finished(tmp_path, "baseline-s1")
    gated = finished(tmp_path, "l0-1", ("baseline-s1",), updates=30)
    removed = finished(tmp_path, "removed-1", ("baseline-s1", "l0-1"), updates=30)
    found = costs([dense, gated, removed])
    assert found["l0-1"]["updates_total"] == T + 30
    assert found["removed-1"]["updates_total"] == T + 30 + 30
    assert found["removed-1"]["updates_rounds"] == 0


@pytest.mark.parametrize(
    ("settings", "updates", "total"),
    [
        ({"stage": "train_ticket", "lottery": {"rewind_update": 0}}, T, T),
        ({"stage": "train_ticket", "lottery": {"rewind_update": X, "schedule": "restarted"}}, T - X, T),
        ({"ranked": {"way": "rate_rewound", "rewind_update": X}}, T, T + T - X),
    ],
    ids=["from the initialisation", "schedule restarted", "rate rewound"],
)
def test_where_a_run_begins_to_count(settings: dict[str, Any], updates: int, total: int, tmp_path: Path) -> None:
    dense = finished(tmp_path, "baseline-s1")
    other = finished(tmp_path, "ranked-1", ("baseline-s1",), updates=updates, **settings)
    assert costs([dense, other])["ranked-1"]["updates_total"] == total


def test_rounds_without_training_cost_their_time_only(tmp_path: Path) -> None:
    dense = finished(tmp_path, "baseline-s1")
    drawn = finished(tmp_path, "round-1", ("baseline-s1",), updates=X, lottery={"rewind_update": X, "round": 1})
    assert costs([dense, drawn])["round-1"]["updates_total"] == X
    assert costs([dense, drawn])["round-1"]["train_seconds_total"] == pytest.approx(1.0 + X / T)
    assert costs([dense, drawn])["round-1"]["seconds_per_update"] is None


def test_an_unfinished_ancestor_leaves_the_total_open(tmp_path: Path) -> None:
    runs = lottery(tmp_path)
    found = costs([run for run in runs if run.run != "round-1"])["ticket"]
    assert found["updates"] == T - X
    assert "updates_total" not in found


def test_time_of_an_update_is_the_median_between_reports_without_validations(tmp_path: Path) -> None:
    (run,) = (run for run in lottery(tmp_path) if run.run == "ticket")
    seconds = [(30, 2.0), (40, 3.0), (40, 9.0), (50, 10.0), (60, 60.0)]  # a validation after 40, a pause after 50
    lines = [json.dumps({"update": update, "seconds": at}) for update, at in seconds]
    (run.folder / "journal.jsonl").write_text("".join(line + "\n" for line in lines))
    assert costs([run])["ticket"]["seconds_per_update"] == pytest.approx((0.1 + 0.2) / 2)


def test_on_a_cpu_its_own_time_counts(tmp_path: Path):
    run = finished(tmp_path, "baseline-s1", seconds=60.0)
    run.record.update(cpu_seconds=30.0, device="cpu")
    run.folder.mkdir(exist_ok=True)
    lines = [{"update": update, "seconds": 0.2 * update, "cpu_seconds": 0.1 * update} for update in (10, 20)]
    (run.folder / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert costs([run])["baseline-s1"]["seconds_per_update"] == pytest.approx(0.1)
    assert costs([run])["baseline-s1"]["train_seconds_total"] == pytest.approx(30.0)
    run.record["device"] = "cuda"
    assert costs([run])["baseline-s1"]["train_seconds_total"] == pytest.approx(60.0)
