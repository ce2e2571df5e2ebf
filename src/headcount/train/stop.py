"""Signals that ask a run to stop become a flag that the loop reads between two updates."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

from headcount.errors import InterruptedRun

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
"""What batch systems send before they kill: TERM at the time limit or on preemption, USR1 where a job asks for it."""


class StopRequest:
    """While the context is open, a signal only sets `received`: a second one, also during a save, does no harm.

    Where `at_once` is open as well, the first signal ends that block.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._at_once: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only there may handlers be set
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        if (update := self._at_once) is not None:
            self._at_once = None  # a second signal must not disturb the way out
            raise self.error(update)

    def error(self, update: int) -> InterruptedRun:
        """Return what ends the run, whose `update` is saved, for the signal that was received."""
        assert self.received is not None
        return InterruptedRun(f"stopped by {self.received.name} after update {update}; start again to go on")

    @contextlib.contextmanager
    def at_once(self, update: int) -> Iterator[None]:
        """Let a signal end the block where it stands; for long work that writes nothing and can be made again.

        Raises:
            InterruptedRun: a signal came, here or before; `update` is the last one that is saved.

        """
        self._at_once = update
        try:
            if self.received is not None:
                raise self.error(update)
            yield
        finally:
            self._at_once = None
        if self.received is not None:  # its error was raised where nobody could pass it on, in a destructor for example
            raise self.error(update)

    def __exit__(self, error: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None and self.received is not None:  # came too late for the loop: hand it on
            signal.raise_signal(self.received)
