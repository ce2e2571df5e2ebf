"""The mean of the weights at the last averaging points, instead of a set of checkpoint files."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn


class Average:
    """A running sum over the last `points` multiples of `every_updates` counted back from the last update.

    The last update is known from the start, so only weights that count are ever added, and one sum is all the state
    there is. It is kept in float64: exact for equal weights and in any order.

    Args:
        updates: last update of the training, always an averaging point.
        points: weights that are averaged; 1 leaves the final weights as they are.
        every_updates: distance of two points.

    """

    def __init__(self, *, updates: int, points: int, every_updates: int) -> None:
        self._due = range(updates, 0, -every_updates)[:points] if points > 1 else range(0)
        self._sum: dict[str, torch.Tensor] = {}
        self._count = 0

    @torch.no_grad()
    def add(self, model: nn.Module, update: int) -> None:
        """Add the model's weights if `update` is an averaging point."""
        if update not in self._due:
            return
        self._count += 1
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                summed = value.to(torch.float64, copy=True)
                self._sum[name] = self._sum[name] + summed if name in self._sum else summed

    def apply(self, model: nn.Module) -> None:
        """Set the model's weights to the mean of the points added so far; without any it stays as it is."""
        mean = {name: value / self._count for name, value in self._sum.items()}  # cast back while it is copied
        model.load_state_dict({**model.state_dict(), **mean})

    def state(self) -> dict[str, object]:
        """Return what `load` needs to go on exactly."""
        return {"count": self._count, "sum": self._sum}

    def load(self, state: Mapping[str, object], device: torch.device) -> None:
        """Go on from a state of the same settings."""
        count, summed = state["count"], state["sum"]
        assert isinstance(count, int)
        assert isinstance(summed, dict)
        self._count = count
        self._sum = {name: value.to(device) for name, value in summed.items()}
