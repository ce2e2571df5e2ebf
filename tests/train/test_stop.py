from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from headcount.train.stop import SIGNALS, StopRequest


@pytest.fixture(params=SIGNALS, ids=lambda number: number.name)
def number(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal whose handler raises, as the run folder's does."""

    def handler(*_: object) -> None:
        raise InterruptedError

    before = signal.signal(request.param, handler)
    yield request.param
    signal.signal(request.param, before)


def test_signals_are_noted_and_handed_on_when_nobody_acted(number: signal.Signals):
    seen: list[signal.Signals | None] = []

    def work() -> None:
        with StopRequest() as stop:
            seen.append(stop.received)
            signal.raise_signal(number)
            signal.raise_signal(number)
            seen.append(stop.received)

    with pytest.raises(InterruptedError):
        work()
    assert seen == [None, number]


def test_an_error_is_not_covered_up(number: signal.Signals):
    def work() -> None:
        with StopRequest():
            signal.raise_signal(number)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        work()


def test_handlers_are_put_back(number: signal.Signals):
    before = signal.getsignal(number)
    with StopRequest():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before


def test_outside_of_the_main_thread_signals_are_left_alone():
    seen = []

    def work() -> None:
        with StopRequest() as stop:
            seen.append(stop.received)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None]
