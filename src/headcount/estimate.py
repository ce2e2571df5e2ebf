"""What a run costs before it has run: updates, matrix products, parameters, bytes on the disk; free of torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.heads import ATTENTION_TYPES
from headcount.plan import Run

GFLOPS_PER_THREAD = 44.0
"""What small models reach on one server core in float32; an assumption of `cpu_seconds`."""

TYPICAL_LENGTH = 14
"""Pieces a sentence that the counts of matrix products assume."""

USEFUL_SHARE = 0.85
"""Target tokens among the cells of a batch that they assume."""

MASKED = ("l0", "subset")
"""Sections of methods that close heads without removing them while they train: closed heads still cost time."""


def origin(run: Run, runs: Mapping[str, Run]) -> Run:
    """Return the run whose settings shape the model of a run: itself, or the dense model from which it descends.

    Raises:
        KeyError: an ancestor is not among the `runs`.

    """
    while "model" not in run.settings:
        run = runs[run.parents[0]]
    return run


def model_of(run: Run, runs: Mapping[str, Run], vocabulary: int) -> dict[str, Any]:
    """Return the shape of the model that a run starts from, with all heads."""
    return {**origin(run, runs).settings["model"], "vocabulary": vocabulary}


def flops_per_update(run: Run, model: Mapping[str, Any]) -> float:
    """Count the floating-point operations of the matrix products of one update: three passes, two to a product.

    Only heads that the run trains count, as far as they are known beforehand; source and target have `TYPICAL_LENGTH`.
    """
    width, of_encoder, of_decoder = model["width"], model["layers_encoder"], model["layers_decoder"]
    attention, feed = 8 * width * width + 4 * width * TYPICAL_LENGTH, 4 * width * model["feed_forward"]
    left = of_encoder + 2 * of_decoder - _removed(run, model) / model["heads"]  # in attentions
    flops = 3 * (left * attention + (of_encoder + of_decoder) * feed + 2 * width * model["vocabulary"])
    training = run.settings["training"]
    return float(flops * USEFUL_SHARE * training["tokens_per_batch"] * training["accumulate_batches"])


def cpu_seconds(run: Run, vocabulary: int, model: Mapping[str, Any]) -> float:
    """Guess the run's CPU-seconds on one thread: its matrix products at `GFLOPS_PER_THREAD`.

    Good to a factor of two; the seconds of a finished run are the better figure.
    """
    shape = {**run.settings.get("model", model), "vocabulary": vocabulary}
    return updates(run) * flops_per_update(run, shape) / (GFLOPS_PER_THREAD * 1e9)


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


def parameters(model: Mapping[str, Any], heads: Mapping[str, int] | None = None) -> dict[str, int]:
    """Count the parameters of a model by its parts: `embedding`, `encoder`, `decoder`.

    Args:
        model: sizes, norm, `normalisers` by attention type, `vocabulary`.
        heads: heads left, summed over the layers of each attention type; None: all.

    """
    width, of_encoder, of_decoder = model["width"], model["layers_encoder"], model["layers_decoder"]
    layers = dict(zip(ATTENTION_TYPES, (of_encoder, of_decoder, of_decoder), strict=True))
    left = heads or {kind: model["heads"] * count for kind, count in layers.items()}
    normalisers = {kind: model.get("normalisers", {}).get(kind, "") for kind in ATTENTION_TYPES}
    attention = {
        kind: left[kind] * (_of_head(model) + (normalisers[kind] == "entmax_alpha"))
        + layers[kind] * (width + (normalisers[kind] == "entmax_alpha_layer"))  # the bias of the output projection
        for kind in ATTENTION_TYPES
    }
    feed = 2 * width * model["feed_forward"] + model["feed_forward"] + width
    norm = 2 * width
    last = norm if model["norm"] == "pre" else 0
    shared = "entmax_alpha_model" in normalisers.values()  # one α, which the model itself owns
    return {
        "embedding": (1 if model["tie_embeddings"] else 3) * width * model["vocabulary"] + shared,
        "encoder": attention["encoder"] + of_encoder * (feed + 2 * norm) + last,
        "decoder": attention["decoder_self"] + attention["decoder_cross"] + of_decoder * (feed + 3 * norm) + last,
    }


def bytes_on_disk(run: Run, model: Mapping[str, Any], checkpoint_every_updates: int) -> int:
    """Add up the large files of a run folder: final weights, resumable checkpoints, those to which others rewind.

    A checkpoint holds float32 weights, two Adam moments of what is trained and, where the end is a mean of averaging
    points, their float64 sum. The two newest stay; kept ones have no sum and lie a second time in the run folder.
    """
    made, settings = updates(run), run.settings
    parts = parameters(model)
    everything = sum(parts.values()) - _removed(run, model) * _of_head(model)
    frozen = run.scope == "encoder" and run.stage in ("finetune_l0", "finetune_removed")
    of_source = 0 if model["tie_embeddings"] else model["width"] * model["vocabulary"]
    trained = parts["encoder"] + of_source if frozen else everything
    bare = 4 * everything + 8 * trained
    averaged = run.stage.startswith("train_") or settings.get("ranked", {}).get("way") == "rate_rewound"
    summed = averaged and settings["training"]["average_checkpoints"] > 1
    start = (settings.get("lottery") or settings.get("ranked") or {}).get("rewind_update", 0)
    saved = -(-(start + made) // checkpoint_every_updates) - start // checkpoint_every_updates if made else 0
    newest = min(2, saved) * (bare + (8 * everything if summed else 0))
    kept = 2 * len(settings.get("keep_updates", ())) * bare
    return newest + kept + (4 * everything if run.trains_a_model else 0)


def _of_head(model: Mapping[str, Any]) -> int:
    """Count the parameters that go with one head."""
    width, channels = model["width"], model["width"] // model["heads"]
    return int(4 * width * channels + 3 * channels)


def _removed(run: Run, model: Mapping[str, Any]) -> int:
    """Return the heads without which the run trains."""
    settings = run.settings
    if run.stage == "lottery_round":
        return int(settings["lottery"]["heads_per_round"] * (settings["lottery"]["round"] - 1))
    masked = any(section in settings for section in MASKED) or settings.get("ranked", {}).get("way") == "iterative"
    if masked or "target_heads" not in settings:
        return 0
    attentions = model["layers_encoder"] + (0 if run.scope == "encoder" else 2 * model["layers_decoder"])
    return int(model["heads"] * attentions) - int(settings["target_heads"])
