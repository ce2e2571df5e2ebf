"""How a method takes part in training: five calls around a loop that knows no method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import nn


class Hook(Protocol):
    """What the loop calls. State that must survive a restart belongs into the model as parameters or buffers."""

    def start(self, model: nn.Module, update: int) -> None:
        """Look at the model before the first update of this process; `update` ones are behind it."""

    def loss_term(self, update: int) -> torch.Tensor | None:
        """Return what is added, once per update, to the mean loss of a target token (nats); None adds nothing.

        Called when the gradient of the whole update is there; of several ranks each is asked and must answer alike.
        """

    def done(self, update: int) -> bool:
        """Say whether training may end after this update, before the planned last one.

        Asked once the update is made, before its checkpoint is written, so that a hook may also act on the model here;
        and again when a run goes on from the checkpoint of it: the answer must be the
        same both times.
        """

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return further values for the journal line of this update; called only for updates that get one."""

    def finish(self, model: nn.Module) -> None:
        """Look at the finished model; averaged weights are in place."""


class NoHook:
    """The hook that does nothing, to inherit from."""

    def start(self, model: nn.Module, update: int) -> None:
        """Do nothing."""

    def loss_term(self, update: int) -> torch.Tensor | None:
        """Add nothing."""
        return None

    def done(self, update: int) -> bool:
        """Go on to the planned end."""
        return False

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Report nothing."""
        return {}

    def finish(self, model: nn.Module) -> None:
        """Do nothing."""
