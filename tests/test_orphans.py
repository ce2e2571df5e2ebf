from __future__ import annotations

from pathlib import Path

import pytest

from headcount.errors import UserError
from headcount.orphans import refuse_orphans


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that sets what a pretend `squeue` answers; it writes down what it was asked."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def answers(text: str, status: int = 0) -> Path:
        (tmp_path / "answer").write_text(text)
        program = tmp_path / "squeue"
        to = 2 if status else 1
        lines = ["#!/bin/sh", f'echo "$@" >> {tmp_path}/asked', f"/bin/cat {tmp_path}/answer >&{to}", f"exit {status}"]
        program.write_text("\n".join(lines))
        program.chmod(0o755)
        return tmp_path / "asked"

    return answers


def test_the_first_start_asks_nothing_and_writes_down_its_name(queue, tmp_path: Path):
    asked = queue("1|RUNNING|rule_prepare\n")
    refuse_orphans(tmp_path / "logs" / "slurm-run", "headcount_a")
    assert (tmp_path / "logs" / "slurm-run").read_text() == "headcount_a\n"
    assert not asked.exists()


def test_live_jobs_of_the_start_before_are_named_with_the_command_that_ends_them(queue, tmp_path: Path):
    asked = queue("17|RUNNING|rule_train_baseline_wildcards_baseline-s1\n18|PENDING|rule_prepare\n")
    record = tmp_path / "slurm-run"
    record.write_text("headcount_a\n")
    with pytest.raises(UserError) as refused:
        refuse_orphans(record, "headcount_b")
    assert "17 RUNNING rule_train_baseline_wildcards_baseline-s1" in str(refused.value)
    assert "\n  scancel 17 18" in str(refused.value)
    assert "--name=headcount_a" in asked.read_text()
    assert record.read_text() == "headcount_a\n"  # the next start is refused as well


def test_an_empty_queue_lets_the_next_start_through(queue, tmp_path: Path):
    queue("")
    record = tmp_path / "slurm-run"
    record.write_text("headcount_a\n")
    refuse_orphans(record, "headcount_b")
    assert record.read_text() == "headcount_b\n"


def test_a_queue_that_cannot_be_read_is_not_taken_for_an_empty_one(queue, tmp_path: Path):
    record = tmp_path / "slurm-run"
    record.write_text("headcount_a\n")
    queue("Unable to contact slurm controller", status=1)
    with pytest.raises(UserError, match=r"does not answer.*Unable to contact"):
        refuse_orphans(record, "headcount_b")
    (tmp_path / "squeue").unlink()
    with pytest.raises(UserError, match="no such program"):
        refuse_orphans(record, "headcount_b")
    assert record.read_text() == "headcount_a\n"
