"""What happened since the last journal line, summed on the device and read with a single wait."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Reading:
    """Means since the reading before; NaN where every update was skipped."""

    loss: float
    """Label-smoothed loss of a target token, in nats."""
    nll: float
    """Negative log likelihood of a target token, in nats."""
    gradient_norm: float
    """Before clipping."""
    skipped: int
    """Updates skipped since the start of training."""
    longest_streak: int
    """Most updates skipped in a row, of the streaks that reach into this interval."""


class Meter:
    """Sums of the updates that were made, counts of those that were skipped."""

    def __init__(self, device: torch.device) -> None:
        self._all = torch.zeros(8, dtype=torch.float64, device=device)
        self._sums = self._all[:5]  # loss, nll, gradient norm, tokens, updates
        self._skipped, self._streak, self._longest = self._all[5:]

    def add(
        self, loss: torch.Tensor, nll: torch.Tensor, norm: torch.Tensor, *, tokens: int, made: torch.Tensor
    ) -> None:
        """Count one update: sums over its tokens, its gradient norm, and whether its step was made."""
        counted = made.double()
        values = torch.stack([loss.double(), nll.double(), norm.double(), counted * tokens, counted])
        self._sums += torch.where(made, values, 0.0)
        self._skipped += 1 - counted
        self._streak.add_(1).mul_(1 - counted)
        torch.maximum(self._longest, self._streak, out=self._longest)

    def read(self) -> Reading:
        """Return the means and start the next interval; waits for the device."""
        loss, nll, norm, tokens, updates, skipped, _, longest = self._all.tolist()
        self._sums.zero_()
        self._longest.copy_(self._streak)
        return Reading(
            loss=loss / tokens if tokens else math.nan,
            nll=nll / tokens if tokens else math.nan,
            gradient_norm=norm / updates if updates else math.nan,
            skipped=int(skipped),
            longest_streak=int(longest),
        )

    def state(self) -> list[float]:
        """Return what `load` needs to go on exactly."""
        values: list[float] = self._all.tolist()
        return values

    def load(self, state: list[float]) -> None:
        """Go on from a state."""
        self._all.copy_(torch.tensor(state, dtype=torch.float64))
