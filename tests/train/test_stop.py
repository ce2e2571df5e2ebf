from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

import pytest

from headcount.errors import InterruptedRun
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


def test_long_work_is_ended_where_it_stands_and_only_once(number: signal.Signals):
    seen = []

    def work() -> None:
        with StopRequest() as stop:
            with stop.at_once(7):
                seen.append("begun")
            with stop.at_once(8):
                try:
                    signal.raise_signal(number)
                    seen.append("went on")
                finally:
                    signal.raise_signal(number)  # on the way out
                    seen.append("left")

    with pytest.raises(InterruptedRun, match=f"stopped by {number.name} after update 8; start again"):
        work()
    assert seen == ["begun", "left"]


def test_long_work_does_not_begin_after_a_signal_and_no_library_hides_one(number: signal.Signals):
    seen = []

    def begin() -> None:
        with StopRequest() as stop:
            signal.raise_signal(number)
            with stop.at_once(8):
                seen.append("begun")

    def hide() -> None:
        with StopRequest() as stop, stop.at_once(8), contextlib.suppress(Exception):
            signal.raise_signal(number)

    for work in (begin, hide):
        with pytest.raises(InterruptedRun):
            work()
    assert seen == []


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
