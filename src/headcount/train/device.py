"""Where and in which precision a model is trained."""

from __future__ import annotations

import torch

from headcount.errors import UserError


def choose_device(name: str) -> torch.device:
    """Return the device that the setting `training.device` means here: auto, cpu or cuda.

    Raises:
        UserError: a GPU was asked for and there is none; training never falls back to the CPU unasked.

    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise UserError("training.device: cuda, but PyTorch finds no GPU here; allowed here: auto, cpu")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Return the context of the forward pass for the setting `training.precision`: auto, float32 or bfloat16."""
    bfloat16 = precision == "bfloat16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16)
