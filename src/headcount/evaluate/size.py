"""How large a trained model is, from the headers of its files; free of torch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from headcount.errors import UserError
from headcount.heads import count
from headcount.model.shape import ATTENTION_NAMES, ModelConfig


def measure(folder: Path) -> dict[str, Any]:
    """Count the parameters, heads and bytes of the model in a folder; nothing but headers is read.

    Returns:
        `parameters` and the part `parameters_attention` in the projections of the attentions (tied matrices count
        once), `heads` by attention type, `file_bytes` of the weights.

    Raises:
        UserError: a file of the model is missing or damaged.

    """
    weights, shape = folder / "model.safetensors", folder / "model.json"
    try:
        config = ModelConfig.from_dict(json.loads(shape.read_text(encoding="utf-8")))
        with safe_open(weights, framework="numpy") as stored:
            sizes = {name: math.prod(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise UserError(f"{error.filename or weights}: no such file; the model is incomplete") from None
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{folder}: not a readable model ({error}); run its job again") from None
    attentions = tuple(
        f"{name.format(layer)}." for kind, name in ATTENTION_NAMES.items() for layer in range(len(config.kept[kind]))
    )
    return {
        "parameters": sum(sizes.values()),
        "parameters_attention": sum(size for name, size in sizes.items() if name.startswith(attentions)),
        "heads": count(config.kept),
        "file_bytes": weights.stat().st_size,
    }
