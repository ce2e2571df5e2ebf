"""Several processes that train one model: each takes a part of every batch, gradients are added up.

The sum of the gradients is formed once an update, by one all-reduce after the last backward pass and before what hooks
add to the loss. `DistributedDataParallel` would form it inside the backward pass: it wraps the model, so that
checkpoints get a prefix, it must be told which batch of an update is the last and which rank has nothing to do, and it
would count the term of a hook once for each rank. What it saves is the time of that one all-reduce.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from headcount.errors import InterruptedRun, UserError
from headcount.processes import lives
from headcount.train.torchrun import is_rank

if TYPE_CHECKING:
    from headcount.data.batching import Batch

T = TypeVar("T")

JOIN_SECONDS = 600.0
"""Longest wait for the other ranks to start."""

ANSWER_SECONDS = 300.0
"""Longest wait for the gradients of another rank, which does the same work; a rank that died is noticed at once."""

PATIENCE_SECONDS = 30 * 86400.0
"""Longest wait for what rank 0 does alone: it may validate as long as it likes."""


class Ranks:
    """The place of this process among those that train together; alone unless `joined` says otherwise.

    Rank 0 is the first: it alone validates, writes the journal and saves. All hold the same weights, bit by bit.

    Args:
        rank: number of this process.
        size: number of processes.
        local: number of this process among those of its machine, and of the GPU that it uses.

    """

    def __init__(self, rank: int = 0, size: int = 1, local: int = 0) -> None:
        self.rank, self.size, self.local = rank, size, local
        self._prompt: dist.ProcessGroup | None = None
        self._patient: dist.ProcessGroup | None = None
        self._members: list[tuple[str, int]] = []

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """Return the part of a batch that this rank trains on."""
        return batch.share(self.rank, self.size) if self.size > 1 else batch

    def add_up(self, gradients: Sequence[Tensor], sums: Sequence[Tensor]) -> list[Tensor]:
        """Replace each gradient by its sum over the ranks, in place, and return the sums of `sums`, which are scalars.

        Raises:
            UserError: another rank ended or did not answer.

        """
        if self.size == 1:
            return list(sums)
        parts = [*gradients, *sums]
        flat = torch.cat([part.flatten() for part in parts])
        self._talk(lambda: dist.all_reduce(flat, group=self._prompt))
        summed = torch.split(flat, [part.numel() for part in parts])
        for gradient, piece in zip(gradients, summed, strict=False):
            gradient.copy_(piece.view_as(gradient))
        return [piece[0] for piece in summed[len(gradients) :]]

    def agree(self, *values: int) -> list[int]:
        """Return the largest of each value over the ranks."""
        if self.size == 1:
            return list(values)
        together = torch.tensor(values)
        self._talk(lambda: dist.all_reduce(together, dist.ReduceOp.MAX, group=self._prompt))
        return cast(list[int], together.tolist())

    def from_first(self, work: Callable[[], T]) -> T:
        """Return what `work` returns on rank 0; the others wait for it, and are interrupted if it is.

        Raises:
            InterruptedRun: a signal ended the work.
            UserError: another rank ended.

        """
        if self.size == 1:
            return work()
        answer: list[Any] = [None, None]  # what was returned, why it was interrupted
        if self.first:
            try:
                answer[0] = work()
            except InterruptedRun as error:
                answer[1] = str(error)
        self._talk(lambda: dist.broadcast_object_list(answer, src=0, group=self._patient))
        if answer[1] is not None:
            raise InterruptedRun(answer[1])
        return cast(T, answer[0])

    def check_equal(self, model: nn.Module, update: int) -> None:
        """Compare the weights and buffers of all ranks, bit by bit.

        Raises:
            UserError: a rank has others than rank 0.

        """
        if self.size == 1:
            return
        digests = self._gathered(_digest(model))
        if others := [rank for rank, digest in enumerate(digests) if digest != digests[0]]:
            raise UserError(
                f"after update {update} rank {', '.join(map(str, others))} has other weights than rank 0; "
                "all ranks need the same kind of machine and GPU, the same code and the same files"
            )

    def _gathered(self, value: T) -> list[T]:
        found: list[Any] = [None] * self.size
        self._talk(lambda: dist.all_gather_object(found, value, group=self._patient))
        return found

    def _talk(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
            raise UserError(
                f"rank {self.rank}: {self._missing()}; start again to go on from the last checkpoint"
            ) from error

    def _missing(self) -> str:
        """Name the ranks without which there is no going on."""
        host = socket.gethostname()
        deadline = time.monotonic() + 1.0  # a connection breaks a little before its process is gone
        while time.monotonic() < deadline:
            for rank, (where, pid) in enumerate(self._members):
                if where == host and not lives(pid):
                    return f"rank {rank} (process {pid} on {host}) has ended, so training cannot go on"
            time.sleep(0.05)
        others = ", ".join(f"{rank} on {where}" for rank, (where, _) in enumerate(self._members) if rank != self.rank)
        return f"no answer from one of the ranks {others or 'beside it'}"


ALONE = Ranks()
"""A process that trains by itself."""


@contextlib.contextmanager
def joined() -> Iterator[Ranks]:
    """Meet the other processes that torchrun started, for as long as the block is open; alone without torchrun.

    Gradients travel by NCCL between GPUs and by Gloo between CPUs, everything else by Gloo.

    Raises:
        UserError: not all of them came.

    """
    if not is_rank():
        yield ALONE
        return
    ranks = Ranks(*(int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    ranks._talk(lambda: dist.init_process_group(backend, timeout=timedelta(seconds=JOIN_SECONDS)))
    ranks._prompt = dist.new_group(backend=backend, timeout=timedelta(seconds=ANSWER_SECONDS))
    ranks._patient = dist.new_group(backend="gloo", timeout=timedelta(seconds=PATIENCE_SECONDS))
    ranks._members = ranks._gathered((socket.gethostname(), os.getpid()))
    yield ranks
    dist.destroy_process_group()  # not after an error: it may wait for a rank that is gone


def _digest(model: nn.Module) -> str:
    digest = hashlib.blake2b()
    for name, value in model.state_dict().items():
        digest.update(f"{name} {tuple(value.shape)} ".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
