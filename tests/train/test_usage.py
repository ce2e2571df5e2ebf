from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch

from headcount.tracking.payload import usage as points
from headcount.train import usage


def samples(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_cpu_and_memory_are_sampled_until_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(usage, "SAMPLE_SECONDS", 0.01)
    path = tmp_path / "usage.jsonl"
    with usage.sampled(path):
        ends = time.monotonic() + 20
        while not path.exists() or len(samples(path)) < 3:
            assert time.monotonic() < ends
    found = samples(path)
    assert len(found) > 3
    for sample in found:
        assert set(sample) == {"time", "cpu_percent", "memory_megabytes"}
        assert sample["memory_megabytes"] > 50  # PyTorch alone
    assert max(sample["cpu_percent"] for sample in found) > 1  # this test turns in a loop
    time.sleep(0.05)
    assert samples(path) == found


def test_a_short_run_has_one_sample_and_a_resumed_one_more(tmp_path):
    path = tmp_path / "usage.jsonl"
    for expected in (1, 2):
        with usage.sampled(path):
            pass
        assert len(samples(path)) == expected


def test_a_gpu_in_use_is_sampled_too(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 3_000_000)
    monkeypatch.setattr(torch.cuda, "utilization", lambda: 87)
    with usage.sampled(tmp_path / "a"):
        pass
    [sample] = samples(tmp_path / "a")
    assert (sample["gpu_percent"], sample["gpu_memory_megabytes"]) == (87, 3)

    def refused():
        raise RuntimeError("NVML does not tell of a part of a GPU")

    monkeypatch.setattr(torch.cuda, "utilization", refused)
    with usage.sampled(tmp_path / "b"):
        pass
    [sample] = samples(tmp_path / "b")
    assert "gpu_percent" not in sample
    assert sample["gpu_memory_megabytes"] == 3


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(usage, "SAMPLE_SECONDS", 0.01)
    path = tmp_path / "away" / "usage.jsonl"
    with usage.sampled(path):
        time.sleep(0.1)
        path.parent.mkdir()
    assert samples(path)


def test_an_error_in_the_block_is_not_hidden(tmp_path):
    with pytest.raises(KeyError, match="training"), usage.sampled(tmp_path / "usage.jsonl"):
        raise KeyError("training")


def test_samples_become_metrics_over_seconds(tmp_path):
    path = tmp_path / "usage.jsonl"
    path.write_text(
        '{"time": 100.0, "cpu_percent": 90.0}\n{"time": 130.4, "cpu_per{"time": 160.4, "cpu_percent": 80.0}\n'
    )
    with path.open("a") as handle:
        handle.write('{"time": 190.4, "cpu_percent": 70.0}\n{"time": 22')
    assert [tuple(point)[:3] for point in points(path)] == [
        ("system/cpu_percent", 0, 90.0),
        ("system/cpu_percent", 90, 70.0),
    ]
    assert list(points(tmp_path / "none")) == []


def test_samples_are_told_in_one_order_by_every_process(tmp_path):
    keys = ["memory_megabytes", "gpu_percent", "cpu_percent", "gpu_memory_megabytes", "d", "a", "c", "b"]
    path = tmp_path / "usage.jsonl"
    path.write_text(json.dumps({"time": 1.0, **dict.fromkeys(keys, 2.0)}) + "\n")
    assert [point.metric for point in points(path)] == [f"system/{key}" for key in sorted(keys)]
