"""Taking turns, and what a line says of the rounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.environments import HERE, variables
from benchmarks.rounds import Line, Side, alternate
from benchmarks.study import Seconds


def said(text: str) -> str:
    return f"import json; print('chatter'); print(json.dumps({text}))"


def test_ratios_are_taken_within_a_round_and_their_median_is_reported():
    record = Line("a", "tokens", ours=[10.0, 40.0, 30.0], peer=[10.0, 10.0, 20.0], peer_version="p 1").record(
        {"x": "1"}
    )
    assert (record["ours"], record["peer"]) == (30.0, 10.0)
    assert (record["low"], record["ratio"], record["high"]) == (1.0, 1.5, 4.0)  # not 30 / 10
    assert record["conditions"] == {"rounds": "3"}
    assert record["versions"] == {"x": "1", "peer": "p 1"}


def test_fewer_seconds_than_the_limit_are_a_ratio_above_one():
    record = Seconds("study_wall", "seconds", [500.0], [1500.0]).record({})
    assert (record["ours"], record["peer"], record["ratio"]) == (500.0, 1500.0, 3.0)


def test_sides_take_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    order = tmp_path / "order"
    sides = [
        Side("ours", ["-c", f"open({str(order)!r}, 'a').write({name!r}); {said('dict(rate=1)')}"]) for name in "AB"
    ]
    assert alternate(sides, 3) == [[{"rate": 1}] * 3] * 2
    assert order.read_text() == "ABABAB"
    rounds = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rounds == [{"round": number, "rounds": 3} for number in (1, 2, 3)]


def test_a_side_that_fails_is_left_out_and_the_others_go_on(capfd: pytest.CaptureFixture[str]):
    good, bad = Side("ours", ["-c", said("dict(rate=2)")]), Side("ours", ["-c", "1 / 0"])
    assert alternate([good, bad, good], 2) == [[{"rate": 2}] * 2, [], [{"rate": 2}] * 2]
    assert capfd.readouterr().err.count("ZeroDivisionError") == 1
    with pytest.raises(RuntimeError, match="status 1"):
        alternate([bad, good], 2)


def test_a_side_without_a_json_line_fails():
    with pytest.raises(RuntimeError, match="status 0"):
        Side("ours", ["-c", "print('nothing')"]).run()


def test_all_sides_have_one_thread_and_no_foreign_modules(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    assert variables()["OMP_NUM_THREADS"] == "1"
    assert "PYTHONPATH" not in variables()


def test_stamps_count_from_the_warm_up_and_end_the_process():
    program = (
        f"import sys; sys.path.insert(0, {str(HERE / 'peers')!r})\n"
        "from stamps import Stamps\n"
        "stamps = Stamps(30, 'toolkit 1')\n"
        "for update, tokens in ((10, 7), (20, 100), (30, 200)):\n"
        "    stamps.report(update, tokens)\n"
        "print('saving a checkpoint')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["tokens"], result["updates"], result["version"]) == (300, 20, "toolkit 1")
    assert result["cpu_seconds"] >= 0
