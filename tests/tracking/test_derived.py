from __future__ import annotations

import csv

from headcount.tracking.derived import LONGEST_NOTE, lottery_payload, results_note, summary_payload
from headcount.tracking.payload import run_payload


def test_the_lottery_is_summed_up_by_round(bare):
    bare.write("round-01-s1")
    bare.write("round-02-s1", status="running")
    names = ("round-01-s1", "round-02-s1")
    payload = lottery_payload(bare.folder, [run_payload(bare.folder, name) for name in names])
    assert (payload.run, payload.status, payload.ended) == ("lottery-s1", "RUNNING", 0.0)
    values = {(point.metric, point.step): point.value for point in payload.points}
    assert values["lottery/heads_total", 1] == 3
    assert values["lottery/train_loss", 1] == 8 / 60
    assert {step for _, step in values} == {1}
    assert "lottery.round" not in payload.params
    assert payload.params["lottery.heads_per_round"] == "2"


def test_a_failed_round_fails_the_lottery(bare):
    bare.write("round-01-s1")
    bare.write("round-02-s1", status="failed")
    rounds = [run_payload(bare.folder, name) for name in ("round-01-s1", "round-02-s1")]
    assert lottery_payload(bare.folder, rounds).status == "FAILED"
    assert lottery_payload(bare.folder, rounds[:1]).status == "FINISHED"


def test_there_is_no_summary_before_there_are_results(bare):
    bare.folder.mkdir(parents=True)
    assert summary_payload(bare.folder) is None
    (bare.folder / "data").mkdir()
    (bare.folder / "data" / "manifest.json").write_text("{}")
    assert summary_payload(bare.folder) is None


def test_the_summary_carries_tables_figures_and_report(bare):
    for name in ("tables/runs.csv", "figures/a.svg", "figures/a.png", "figures/a.pdf", "report.html"):
        path = bare.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("run,bleu\nbaseline-s1,20.123\n")
    first = summary_payload(bare.folder)
    assert first
    assert set(first.files) == {"tables/runs.csv", "figures/a.svg", "figures/a.png", "report.html"}
    assert "| baseline-s1 | 20.12 |" in first.tags["mlflow.note.content"]
    (bare.folder / "figures" / "a.svg").write_text("another")
    second = summary_payload(bare.folder)
    assert second
    assert second.settings != first.settings


def test_the_note_fits_and_says_what_is_left_out(tmp_path):
    table = tmp_path / "runs.csv"
    with table.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, ["run", "bleu", "p_value"])
        writer.writeheader()
        writer.writerows({"run": f"run-{index}", "bleu": index / 7, "p_value": ""} for index in range(400))
    note = results_note(table)
    assert len(note) <= LONGEST_NOTE
    shown = note.count("| run-")
    assert f"{400 - shown} more in `tables/runs.csv`" in note
    assert note.index("| run-399 ") < note.index("| run-398 ")
