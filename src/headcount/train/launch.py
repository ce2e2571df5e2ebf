"""Start the ranks of a training by torchrun, and say in one line how they ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from headcount.errors import InterruptedRun, UserError


def launch(ranks: int, module: str, arguments: Sequence[str]) -> None:
    """Run `python -m module arguments` as several ranks on this machine and wait for them.

    This process is torchrun itself: TERM and USR1 are handed on to the ranks, and when one of them ends badly the
    others are ended too, after 30 s by force.

    Args:
        ranks: processes.
        module: of Python.
        arguments: of the module.

    Raises:
        InterruptedRun: by a signal, sent to this process or to a rank.
        UserError: a rank ended in any other way; the message names the first that did.

    """
    threads = max(int(os.environ.get("OMP_NUM_THREADS", "1")) // ranks, 1)  # of the threads that this process was given
    os.environ["OMP_NUM_THREADS"] = str(threads)
    before = signal.signal(signal.SIGUSR1, lambda *_: os.kill(os.getpid(), signal.SIGTERM))  # torchrun would die of it
    try:
        options = ["--standalone", f"--nproc-per-node={ranks}", "--module", module, *arguments]
        torchrun.run(torchrun.parse_args(options))  # type: ignore[no-untyped-call]
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise InterruptedRun("the ranks were stopped by a signal; start again to go on") from None
    except ChildFailedError as error:
        if any(failure.exitcode == InterruptedRun.status for failure in error.failures.values()):  # they all agreed
            raise InterruptedRun("the ranks were stopped by a signal; start again to go on") from None
        # A rank that was killed is the cause; those that could not go on without it end with a status of their own.
        rank, failure = min(error.failures.items(), key=lambda item: (item[1].exitcode >= 0, item[1].timestamp))
        how = f"status {failure.exitcode}" if failure.exitcode > 0 else signal.Signals(-failure.exitcode).name
        ended = UserError(
            f"rank {rank} (process {failure.pid}) ended with {how}, and with it the training; what it said stands "
            "above; start again to go on from the last checkpoint"
        )
        ended.status = max(failure.exitcode, ended.status)
        raise ended from None
    finally:
        signal.signal(signal.SIGUSR1, before)
