"""A model on disk: `model.safetensors` with the weights beside `model.json` with the config that rebuilds it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save_file
from torch import nn

from headcount.errors import UserError
from headcount.files import atomic_path, atomic_write
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer

WEIGHTS, CONFIG = "model.safetensors", "model.json"
WRAPPERS = ("_orig_mod", "module")
"""Attributes behind which torch.compile and DistributedDataParallel keep the model."""


def save(model: nn.Module, folder: Path) -> None:
    """Write a model, compiled and distributed ones as what they wrap.

    Raises:
        ValueError: a head still has a gate, which would be lost; bake it in by `surgery.remove_heads` first.

    """
    plain = _unwrapped(model)
    gated = [f"{kind} layer {layer}" for (kind, layer), part in plain.attentions().items() if part.gate is not None]
    if gated:
        raise ValueError(f"gates are not saved, but these attentions have one: {', '.join(gated)}")
    config = json.dumps(plain.config.to_dict(), indent=1) + "\n"
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in plain.state_dict().items()}
    with atomic_path(folder / WEIGHTS) as path:
        save_file(tensors, path, metadata={"config": _digest(config)})
    atomic_write(folder / CONFIG, config)


def load(folder: Path, device: torch.device) -> Transformer:
    """Rebuild a model in evaluation mode.

    Raises:
        UserError: a file is missing or damaged, or the weights belong to another config.

    """
    try:
        text = (folder / CONFIG).read_text(encoding="utf-8")
        values: dict[str, Any] = json.loads(text)
    except FileNotFoundError:
        raise UserError(f"{folder / CONFIG}: missing; weights without their config are not loaded") from None
    except ValueError as error:
        raise UserError(f"{folder / CONFIG}: not valid JSON: {error}") from None
    try:
        with safetensors.safe_open(folder / WEIGHTS, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise UserError(f"{folder / WEIGHTS}: missing") from None
    except safetensors.SafetensorError as error:
        raise UserError(f"{folder / WEIGHTS}: damaged: {error}") from None
    if metadata.get("config") != _digest(text):
        raise UserError(f"{folder / WEIGHTS}: was not written with {CONFIG} beside it")
    return build(tensors, ModelConfig.from_dict(values)).to(device)


def build(state: Mapping[str, torch.Tensor], config: ModelConfig) -> Transformer:
    """Return a model of these weights, on their device and in evaluation mode."""
    model = Transformer(config).to(next(iter(state.values())).device)
    model.load_state_dict(state)
    return model.eval()


def _unwrapped(model: nn.Module) -> Transformer:
    for attribute in WRAPPERS * 2:
        model = getattr(model, attribute, model)
    assert isinstance(model, Transformer)
    return model


def _digest(config: str) -> str:
    return hashlib.sha256(config.encode()).hexdigest()
