"""The script for a GPU works as a whole on a CPU, in miniature; a part that fails leaves the others alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import gpu
from benchmarks.gpu_bench import FULL, MINIATURE
from benchmarks.results import KEYS

CHECKS = {"fused_attention", "loss", "gradients", "decode_greedy", "bfloat16_loss_ratio", "resume", "compiled_losses"}
SPEEDS = {"gpu_train_tiny_float32", "gpu_step_entmax_vs_softmax", "gpu_removed_greedy", "gpu_removed_beam4"}


def test_the_whole_script_in_miniature(tmp_path: Path):
    out = tmp_path / "gpu.jsonl"
    command = [sys.executable, "-m", "benchmarks.gpu", "--device", "cpu", "--tiny", "--out", str(out)]
    subprocess.run(command, cwd=Path(gpu.__file__).parents[1], check=True)  # pytest's handlers slow the compiler down
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(set(line) == set(KEYS) for line in lines)
    assert {f"gpu_check_{name}" for name in CHECKS} | SPEEDS <= {line["name"] for line in lines}
    assert all(line["ours"] > 0 for line in lines if line["name"] in SPEEDS)
    assert FULL.models.keys() == {"base", "d256"} != MINIATURE.models.keys()


def test_a_part_that_fails_is_too_slow_or_differs_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken() -> Iterator[tuple[str, float, float]]:
        raise RuntimeError("no such kernel")
        yield ("never", 0.0, 1.0)

    def slow() -> Iterator[tuple[str, float, float]]:
        time.sleep(30)
        yield ("never", 0.0, 1.0)

    def fine() -> Iterator[tuple[str, float, float]]:
        yield ("equal", 0.0, 1.0)
        yield ("different", 2.0, 1.0)
        yield ("not a number", float("nan"), 1.0)

    def parts(bench: gpu.Bench) -> Iterator[object]:
        yield from (("broken", 9, broken), ("slow", 1, slow), ("fine", 9, fine))

    monkeypatch.setattr(gpu, "parts", parts)
    out = tmp_path / "gpu.jsonl"
    assert gpu.main(["--device", "cpu", "--tiny", "--out", str(out)]) == 4
    assert [json.loads(line)["name"] for line in out.read_text().splitlines()] == [
        "gpu_check_different",
        "gpu_check_equal",
        "gpu_check_not a number",
    ]
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_without_time_parts_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(gpu, "TOTAL_SECONDS", 0)
    assert gpu.main(["--device", "cpu", "--tiny", "--out", str(tmp_path / "gpu.jsonl")]) > 0
    assert "left out  check_attention" in capsys.readouterr().out
