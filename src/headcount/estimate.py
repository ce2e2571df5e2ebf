"""What a run costs before it has run: its updates, and CPU-seconds from its matrix products; free of torch."""

from __future__ import annotations

from typing import Any

from headcount.plan import Run


def cpu_seconds(run: Run, vocabulary: int, model: dict[str, Any]) -> float:
    """Estimate the run's CPU-seconds on one thread: training FLOPs per target token at `GFLOPS_PER_THREAD`.

    Counts matrix products only, of the heads that the run trains, equal source and target lengths of `TYPICAL_LENGTH`,
    three passes for forward and backward. Good to a factor of two; the seconds of a finished run are the better figure.
    """
    shape = run.settings.get("model", model)
    width, of_encoder, of_decoder = shape["width"], shape["layers_encoder"], shape["layers_decoder"]
    attention, feed = 8 * width * width + 4 * width * TYPICAL_LENGTH, 4 * width * shape["feed_forward"]
    everything = shape["heads"] * (of_encoder + 2 * of_decoder)
    of_scope = shape["heads"] * of_encoder if run.scope == "encoder" else everything
    left = (everything - _removed(run, of_scope)) / shape["heads"]  # in attentions
    flops = 3 * (left * attention + (of_encoder + of_decoder) * feed + 2 * width * vocabulary)
    training = run.settings["training"]
    useful: float = 0.85 * training["tokens_per_batch"] * training["accumulate_batches"]
    return updates(run) * useful * float(flops) / (GFLOPS_PER_THREAD * 1e9)


GFLOPS_PER_THREAD = 44.0
"""What small models reach on one server core in float32; an assumption of `cpu_seconds`."""

TYPICAL_LENGTH = 14
"""Pieces a sentence that `cpu_seconds` assumes."""


def _removed(run: Run, of_scope: int) -> int:
    """Return the heads without which the run trains; those that L0 or a learned subset closes still cost time."""
    settings = run.settings
    if run.stage == "lottery_round":
        return int(settings["lottery"]["heads_per_round"] * (settings["lottery"]["round"] - 1))
    masked = "subset" in settings or settings.get("ranked", {}).get("way") == "iterative"
    return 0 if masked or "target_heads" not in settings else of_scope - int(settings["target_heads"])


def updates(run: Run) -> int:
    """Return the optimiser updates that the run makes."""
    settings, everything = run.settings, int(run.settings["training"]["updates"])
    for section in ("l0", "subset", "ranked"):
        if section in settings and settings[section].get("way") == "rate_rewound":
            return everything - int(settings[section]["rewind_update"])
        if section in settings:
            return int(settings[section]["updates"])
    if run.stage == "lottery_round":
        return int(settings["lottery"]["round_updates"])
    return everything - (int(settings["lottery"]["rewind_update"]) if run.stage == "train_ticket" else 0)
