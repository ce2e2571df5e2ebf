"""`python -m benchmarks.gpu`: is everything right on a GPU, and how fast is it; one run of at most eight minutes.

First what must be equal (attention, entmax, gradients, decoding, resuming, compiled and plain), then training and
decoding speed. Every part has a limit of time and may fail by itself. Results go to `benchmarks/results/gpu.jsonl`; a
check has the largest difference as `ours` and the allowed one as `peer`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import platform
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu_bench import FULL, MINIATURE, Bench
from benchmarks.gpu_checks import (
    Differences,
    check_attention,
    check_bfloat16,
    check_compiled,
    check_decoding,
    check_entmax,
    check_gradients,
    check_resume,
)
from benchmarks.gpu_times import Speeds, time_decoding, time_entmax, time_training
from benchmarks.results import RESULTS, Record, replace, table
from headcount.train.device import choose_device

TOTAL_SECONDS = 480


def parts(bench: Bench) -> Iterator[tuple[str, int, Callable[[], Differences | Speeds]]]:
    """Yield each part with its limit in seconds, the most important ones first."""
    checks = (check_attention, check_entmax, check_gradients, check_decoding, check_bfloat16, check_resume)
    for check in checks:
        yield check.__name__, 40, functools.partial(check, bench)
    yield "check_compiled", 150, functools.partial(check_compiled, bench)
    for precision in bench.size.precisions:
        for name in bench.size.models:
            yield f"training {name} {precision}", 120, functools.partial(time_training, bench, name, precision)
    yield "entmax", 60, functools.partial(time_entmax, bench)
    yield "decoding", 90, functools.partial(time_decoding, bench)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all parts; the exit status is the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--out", type=Path, default=RESULTS / "gpu.jsonl")
    options = parser.parse_args(arguments)
    deadline = time.monotonic() + TOTAL_SECONDS
    device = choose_device(options.device)
    bench = Bench(device, MINIATURE if options.tiny else FULL)
    records: list[Record] = []
    failed = 0
    for name, limit, part in parts(bench):
        left = int(deadline - time.monotonic())
        if left < 10:
            print(f"left out  {name}: no time", flush=True)  # noqa: T201
            failed += 1
            continue
        began = time.monotonic()
        try:
            with _at_most(min(limit, left)):
                for found in part():
                    records.append(_record(bench, *found))
                    failed += records[-1]["unit"] == "difference" and not records[-1]["ratio"] <= 1
        except Exception:
            failed += 1
            traceback.print_exc()
        print(f"{time.monotonic() - began:7.1f} s {name}", flush=True)  # noqa: T201
        replace(options.out, records)  # what is known is kept, whatever comes
    print(table("gpu", {record["name"]: record for record in records}))  # noqa: T201
    return failed


def _record(bench: Bench, name: str, found: float | list[tuple[float, float]], more: float | str) -> Record:
    """Make a line of a check (difference, allowed) or of a speed (pairs, unit)."""
    device = torch.cuda.get_device_name() if bench.device.type == "cuda" else platform.processor() or "CPU"
    line: Record = {"name": name if isinstance(found, list) else f"gpu_check_{name}"}
    if isinstance(found, list):
        ratios = [ours / peer for ours, peer in found]
        ours, peer = (statistics.median(pair[side] for pair in found) for side in (0, 1))
        line |= {"ours": ours, "peer": peer, "ratio": statistics.median(ratios), "unit": more}
        line |= {"low": min(ratios), "high": max(ratios)}
    else:
        ratio = found / float(more)
        line |= {"ours": found, "peer": more, "ratio": ratio, "unit": "difference", "low": ratio, "high": ratio}
    batch = f"{bench.size.tokens_per_batch} tokens a batch, {bench.size.vocabulary} pieces"
    versions = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda or "none"}
    return line | {"conditions": {"device": device, "size": batch}, "versions": versions}


@contextlib.contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def over(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    sys.exit(main())
