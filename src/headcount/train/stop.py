"""Signals that ask a run to stop become a flag that the loop reads between two updates."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
"""What batch systems send before they kill: TERM at the time limit or on preemption, USR1 where a job asks for it."""


class StopRequest:
    """While the context is open, a signal only sets `received`: a second one, also during a save, does no harm."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only there may handlers be set
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.received = signal.Signals(number)

    def __exit__(self, error: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None and self.received is not None:  # came too late for the loop: hand it on
            signal.raise_signal(self.received)
