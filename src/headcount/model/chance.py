"""Random numbers that all ranks of a training draw alike, such as those of gates; dropout each draws for itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

_generator: torch.Generator | None = None


@contextlib.contextmanager
def common(seed: int, device: torch.device) -> Iterator[None]:
    """Draw `common_noise` from a generator of its own while the block is open."""
    global _generator
    before, _generator = _generator, torch.Generator(device).manual_seed(seed)
    try:
        yield
    finally:
        _generator = before


def common_noise(like: Tensor) -> Tensor:
    """Draw from U[0, 1) in the shape of a tensor; outside of `common` from PyTorch's own generator."""
    return torch.rand(like.shape, generator=_generator, dtype=like.dtype, device=like.device)
