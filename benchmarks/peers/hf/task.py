"""The decoding task that headcount wrote, and its weights under the names of transformers; numpy, torch only."""

import json
from pathlib import Path

import numpy as np

ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
PROJECTIONS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}


def read(folder):
    """Return the task and the weights of a folder."""
    task = json.loads((Path(folder) / "task.json").read_text(encoding="utf-8"))
    with np.load(Path(folder) / "weights.npz") as weights:
        return task, {name: weights[name] for name in weights.files}


def marian_names(weights):
    """Rename our post-norm weights; equal values give equal functions, since both have the same position vectors."""
    renamed = {"model.shared.weight": weights["embedding.shared"]}
    for name, value in weights.items():
        if ".layers." not in name:
            continue
        stack, _, layer, part, *rest = name.split(".")
        if part in ATTENTIONS:
            part = f"{ATTENTIONS[part]}.{PROJECTIONS[rest[0]]}"
        elif part == "feed_forward":
            part = {"inner": "fc1", "outer": "fc2"}[rest[0]]
        else:
            part = {
                "self_residual": "self_attn_layer_norm",
                "cross_residual": "encoder_attn_layer_norm",
                "feed_forward_residual": "final_layer_norm",
            }[part]
        renamed[f"model.{stack}.layers.{layer}.{part}.{name.rsplit('.', 1)[1]}"] = value
    return renamed
