"""How far a training is, and its translation from and into a checkpoint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headcount.train.averaging import Average
from headcount.train.checkpoint import State
from headcount.train.meter import Meter
from headcount.train.optim import NamedAdam

if TYPE_CHECKING:
    from headcount.model.transformer import Transformer


TELL_SECONDS = 10.0
"""Distance of two lines for people, who read slower than small models train."""


class Progress:
    """Counters of a training beside the objects whose state is saved with them."""

    def __init__(self, model: Transformer, optimiser: NamedAdam, average: Average) -> None:
        self.model = model
        self.optimiser = optimiser
        self.average = average
        self.meter = Meter(model.output_weight.device)
        self.update = 0
        self.position = 0
        self.tokens = 0
        self._origin = time.monotonic()
        self._cpu_origin = time.process_time()
        self._told = self._origin
        self.start_interval()

    @property
    def seconds(self) -> float:
        """Wall time of this process and of those before it that led to the state it started from."""
        return time.monotonic() - self._origin

    @property
    def cpu_seconds(self) -> float:
        """CPU time of these processes, of all their threads: unlike `seconds` the same on a busy machine."""
        return time.process_time() - self._cpu_origin

    def advance(self, *, batches: int, tokens: int) -> None:
        """Count one update."""
        self.update += 1
        self.position += batches
        self.tokens += tokens

    def start_interval(self) -> None:
        """Start the interval over which `tokens_per_second` is measured."""
        self._interval = (self.tokens, time.monotonic())

    def tokens_per_second(self) -> float:
        """Return the speed since `start_interval`."""
        tokens, since = self._interval
        return (self.tokens - tokens) / max(time.monotonic() - since, 1e-9)

    def due_to_tell(self, *, last: bool) -> bool:
        """Say whether people should get a line now: after `TELL_SECONDS`, and at the last update."""
        now = time.monotonic()
        due = last or now - self._told >= TELL_SECONDS
        if due:
            self._told = now
        return due

    def state(self) -> State:
        """Return everything that `restore` needs to go on exactly."""
        return {
            "update": self.update,
            "position": self.position,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "model": dict(self.model.state_dict()),
            "moments": self.optimiser.moments(),
            "steps": self.optimiser.steps,
            "average": self.average.state(),
            "meter": self.meter.state(),
        }

    def restore(self, state: State) -> None:
        """Go on from a checkpoint, or from the branch of one."""
        self.update = state["update"]
        self.position = state["position"]
        self.tokens = state["tokens"]
        self._origin = time.monotonic() - state["seconds"]
        self._cpu_origin = time.process_time() - state["cpu_seconds"]
        self.model.load_state_dict(state["model"])
        self.optimiser.load_moments(state["moments"], steps=state["steps"])
        if state["average"] is not None:
            self.average.load(state["average"], self.model.output_weight.device)
        if state["meter"] is not None:
            self.meter.load(state["meter"])
        self.start_interval()
