"""What a run costs before it has run: its updates, and CPU-seconds from its matrix products; free of torch."""

from __future__ import annotations

from typing import Any

from headcount.plan import Run


def cpu_seconds(run: Run, vocabulary: int, model: dict[str, Any]) -> float:
    """Estimate the run's CPU-seconds on one thread: training FLOPs per target token at `GFLOPS_PER_THREAD`.

    Counts matrix products only, equal source and target lengths of `TYPICAL_LENGTH`, three passes for forward and
    backward. Good to a factor of two; the seconds of a finished run are the better figure.
    """
    width, feed_forward = model["width"], model["feed_forward"]
    attention, feed = 8 * width * width + 4 * width * TYPICAL_LENGTH, 4 * width * feed_forward
    encoder = model["layers_encoder"] * (attention + feed)
    decoder = model["layers_decoder"] * (2 * attention + feed)
    flops = 3 * (encoder + decoder + 2 * width * vocabulary)
    training = run.settings["training"]
    useful: float = 0.85 * training["tokens_per_batch"] * training["accumulate_batches"]
    return updates(run) * useful * float(flops) / (GFLOPS_PER_THREAD * 1e9)


GFLOPS_PER_THREAD = 38.0
"""What small models reach on one server core in float32; an assumption of `cpu_seconds`."""

TYPICAL_LENGTH = 14
"""Pieces a sentence that `cpu_seconds` assumes."""


def updates(run: Run) -> int:
    """Return the optimiser updates that the run makes."""
    if run.stage in ("finetune_l0", "finetune_removed"):
        return int(run.settings["l0"]["updates"])
    if run.stage == "lottery_round":
        return int(run.settings["lottery"]["round_updates"])
    first = run.settings["lottery"]["rewind_update"] if run.stage == "train_ticket" else 0
    return int(run.settings["training"]["updates"]) - first
