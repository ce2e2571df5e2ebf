"""What a run asks of its machine: a thread samples the CPU, memory and GPU use of this process into a file.

A view of it only: a line for each sample, never rewound, and nothing that goes wrong here can stop a training.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import torch

SAMPLE_SECONDS = 30.0


@contextlib.contextmanager
def sampled(path: Path) -> Iterator[None]:
    """Append a sample to `path` every `SAMPLE_SECONDS` while the block is open, and one when it ends.

    A line holds `time` (unix seconds), `cpu_percent` since the sample before (100: one core), `memory_megabytes`
    (resident), and once this process uses a GPU `gpu_percent` and `gpu_memory_megabytes` (held by PyTorch).
    """
    done = threading.Event()

    def loop() -> None:
        before = (time.monotonic(), time.process_time())
        over = False
        while not over:
            over = done.wait(SAMPLE_SECONDS)
            now = (time.monotonic(), time.process_time())
            with contextlib.suppress(OSError):
                _append(path, cpu_percent=100 * (now[1] - before[1]) / max(now[0] - before[0], 1e-3))
            before = now

    thread = threading.Thread(target=loop, name="usage", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(1.0)


def _append(path: Path, **values: float) -> None:
    sample = {"time": time.time(), **values, "memory_megabytes": _resident_bytes() / 1e6, **_gpu()}
    rounded = {key: round(value, 1) for key, value in sample.items()}
    with path.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(rounded) + "\n")


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _gpu() -> dict[str, float]:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return {}
    found = {"gpu_memory_megabytes": torch.cuda.memory_reserved() / 1e6}
    with contextlib.suppress(Exception):  # PyTorch asks NVML, which some drivers and all parts of a GPU refuse
        found["gpu_percent"] = float(torch.cuda.utilization())
    return found
