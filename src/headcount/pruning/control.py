"""λ of an L0 fine-tuning, constant or driven to a wished number of open gates, and the moment when gates have settled.

The paper sets λ by hand and reads off how many heads it leaves (voita2019 section 6); a wish for K heads turns λ into
the multiplier of the constraint "as many gates are open as wished". Time is measured in `travel`, the distance in log α
that Adam moves a gate at most, so that the constants below hold for any learning rate of the gates.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

NAME = "l0"
"""Name of the control among the modules of the model."""

SHARPNESS = 0.15
"""A gate this far from the threshold in log α counts for 0.73 of a head or 0.27: smooth, but close to the rule."""

LAG, LOOK_AHEAD = 0.5, 2.0
"""The count is carried forward by twice its change over a travel of 0.5: gates on their way are hard to stop."""

RISE, FALL = 0.4, 1.0
"""Growth of log λ for each unit of travel when one gate or more are too many, and its decay when they are too few."""

BAND = 2.0
"""Gates too few at which the penalty is 0; as many too many have the whole λ."""

LOWEST, HIGHEST = math.log(1e-6), math.log(1e2)
"""Ends of log λ, in nats per target token for each head."""


class Control(nn.Module):
    """What an L0 fine-tuning must remember; its buffers are saved with the model of which it is a part.

    With a target of K among G gates, c the smooth number of gates above the threshold of the rule that reads them at
    test time, c̄ its lagging mean and r the learning rate of the gates, each update first makes

        e = c + 2 (c - c̄) - K                                 how many gates too many there will be
        log λ ← log λ + r (e / G + 0.4 min(e, 1))             if e > 0: the ascent on the multiplier
        log λ ← log λ + r (e / G + max(e, -1))                if e < 0: its descent, faster
        penalty = λ clip((2 + e) / 4, -1, 1)                  the bounded augmented term

    The last line stops gates on their way, and reopens them by a negative penalty where too few are open. A head that
    was closed for long has lost its function, so K is to be approached from above and without swinging through; the
    constants are those that did so on a mechanical model of the gates and on trained models.

    Args:
        penalty: λ in nats per target token for each open head; with a target, λ of the first update.
        target_heads: gates to be left open; 0 leaves λ constant.
        gate_learning_rate: Adam's rate of log α.
        settled_updates: updates in a row with every gate settled after which training is done; 0 never.

    """

    penalty: Tensor
    multiplier: Tensor
    lagging: Tensor
    unsettled: Tensor

    def __init__(self, penalty: float, *, target_heads: int, gate_learning_rate: float, settled_updates: int) -> None:
        super().__init__()
        self._target_heads = target_heads
        self._rate = gate_learning_rate
        self._settled_updates = settled_updates
        self.register_buffer("penalty", torch.tensor(penalty, dtype=torch.float64))
        self.register_buffer("multiplier", self.penalty.log())  # log λ
        self.register_buffer("lagging", torch.tensor(-1.0, dtype=torch.float64))  # c̄, unknown while negative
        self.register_buffer("unsettled", torch.zeros((), dtype=torch.int64))  # last update with an undecided gate

    @torch.no_grad()
    def advance(self, distance: Tensor) -> Tensor:
        """Return the penalty of the next update.

        Args:
            distance: log α of every gate minus the threshold above which it is open at test time, [gate].

        """
        if self._target_heads:
            count = (distance.double() / SHARPNESS).sigmoid().sum()
            lagging = torch.where(self.lagging < 0, count, self.lagging)
            excess = count + LOOK_AHEAD * (count - lagging) - self._target_heads
            growth = excess / distance.numel() + RISE * excess.clamp(0, 1) + FALL * excess.clamp(-1, 0)
            self.lagging.copy_(lagging + min(self._rate / LAG, 1.0) * (count - lagging))
            self.multiplier.add_(self._rate * growth).clamp_(LOWEST, HIGHEST)
            self.penalty.copy_(self.multiplier.exp() * ((BAND + excess) / (2 * BAND)).clamp(-1, 1))
        return self.penalty

    def done(self, update: int, settled: Tensor) -> bool:
        """Say whether every gate was settled in the last `settled_updates` updates.

        Asking twice after the same update gives the same answer.

        Args:
            update: the one just made.
            settled: of every gate, whether it is, [gate] of booleans.

        """
        if not self._settled_updates:
            return False
        if not settled.all():
            self.unsettled.fill_(update)
        return update - int(self.unsettled) >= self._settled_updates
