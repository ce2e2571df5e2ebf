"""A user's mistake ends in one line and status 2, without a stack trace; files in, files out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import headcount

from headcount.config import parse
from headcount.errors import UserError
from headcount.stages.check import check
from headcount.stages.overview import plan_rows
from headcount.stages.score import score


def output(*arguments: str, cwd: Path) -> tuple[int, str]:
    process = headcount(*arguments, cwd=str(cwd))
    text, _ = process.communicate()
    return process.returncode, text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan"], "config.yaml: no such config file"),
        (["translate", "none.txt", "out.txt", "--model", "nowhere", "--subword", "none.model"], "none.txt"),
        (["figure", "bleu_by_haeds", "--tables", ".", "--out", "x.svg"], "did you mean 'bleu_by_heads'?"),
        (["publish", "--study", "results/none", "--out", "docs/none"], "not finished"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], message: str, tmp_path: Path):
    status, text = output(*arguments, cwd=tmp_path)
    assert status == 2
    assert message in text
    assert "Traceback" not in text
    assert text.count("\n") == 1


def test_check_names_every_fault_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = parse(
        {
            "data": {"source": "files", "files": {"tsv": "nowhere.tsv"}},
            "training": {"device": "cuda"},
            "tracking": {"uri": "mlruns"},
        }
    )
    with pytest.raises(UserError) as caught:
        check(study, cluster=False)
    faults = str(caught.value).splitlines()
    assert any(line.startswith("corpora:") and "nowhere.tsv" in line for line in faults)
    assert any(line.startswith("device:") for line in faults)
    assert any(line.startswith("tracking:") and "mlruns" in line for line in faults)
    assert "ok" in capsys.readouterr().err


def test_scores_of_files_that_do_not_belong_together_are_refused(tmp_path: Path):
    for name, lines in {"hypotheses": 3, "references": 4}.items():
        (tmp_path / name).write_text("a b\n" * lines)
    with pytest.raises(UserError, match=r"hypotheses has 3 lines, .*references has 4 lines"):
        score(
            tmp_path / "hypotheses",
            tmp_path / "out.json",
            references=tmp_path / "references",
            baseline=None,
            partner=None,
            near_duplicates=None,
            tokenizer="13a",
            samples=10,
        )
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("partner", ["ticket-18-s1", None])
def test_a_score_names_the_run_that_it_was_compared_with(tmp_path: Path, partner: str | None):
    for name, last in {"reinit-18-s1": "the old cat sleeps", "ticket-18-s1": "the cat sleeps here"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.hypotheses").write_text(f"a dog sees the tree\n{last}\n")
    (tmp_path / "references").write_text("a dog sees the tree\nthe old cat sleeps here\n")
    score(
        tmp_path / "reinit-18-s1" / "test.hypotheses",
        tmp_path / "score.json",
        references=tmp_path / "references",
        baseline=None,
        partner=tmp_path / partner / "test.hypotheses" if partner else None,
        near_duplicates=None,
        tokenizer="13a",
        samples=10,
    )
    values = json.loads((tmp_path / "score.json").read_text())
    assert values["partner"] == partner
    assert (values["partner_delta"] is None) == (partner is None)


def test_the_plan_takes_measured_seconds_where_a_run_is_finished(tmp_path: Path):
    study = parse({})
    folder = tmp_path / "default" / "runs" / "baseline-s1"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"status": "finished", "seconds": 12.5}))
    rows = {row["run"]: row for row in plan_rows(study, tmp_path)}
    assert (rows["baseline-s1"]["seconds"], rows["baseline-s1"]["measured"]) == (12.5, True)
    assert not rows["entmax15-s1"]["measured"]
    assert rows["ticket-36-s1"]["parents"] == ["baseline-s1", "round-04-s1"]


def test_an_address_that_a_rule_hands_over_is_not_overruled_by_the_default_config(tmp_path: Path):
    (tmp_path / "config.yaml").write_text("tracking: {enabled: false}\n")
    arguments = ["track", "--study", "results/none"]
    status, text = output(*arguments, cwd=tmp_path)
    assert status == 0
    assert "tracking.enabled is false" in text
    status, text = output(*arguments, "--uri=", "--receipt", "receipt.json", cwd=tmp_path)
    assert "results/none: no such study" in text
    assert json.loads((tmp_path / "receipt.json").read_text())["problems"]
