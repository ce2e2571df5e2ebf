"""Where the time of decoding goes, by kind of operation.

PyTorch's own profiler reads the clock, which a busy machine disturbs, and makes small steps several times slower; here
the calls of PyTorch's functions are timed one by one in the thread's CPU time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.overrides import TorchFunctionMode

KINDS: dict[Callable[..., Any], str] = {
    F.linear: "matrix_products",
    F.scaled_dot_product_attention: "attention",
    Tensor.matmul: "attention",
    Tensor.softmax: "attention",
    F.pad: "cache",
    Tensor.__setitem__: "cache",
    Tensor.index_select: "cache",
}
"""Function → kind: products with the matrices of parameters; attention by softmax, all but its projections; growing and
reordering the cache. What is not here, norms, the choice of continuations, Python, is the rest."""


def seconds_by_kind(work: Callable[[], object]) -> dict[str, float]:
    """Do some work and return the CPU-seconds of each kind; the rest cannot be told, since the timing adds to it."""
    with _Watch() as watch:
        work()
    return {kind: watch.seconds[kind] for kind in dict.fromkeys(KINDS.values())}


class _Watch(TorchFunctionMode):
    """Sums the CPU-seconds of the outermost calls of PyTorch's functions."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        started = time.thread_time()
        result = func(*args, **(kwargs or {}))
        if func in KINDS:
            self.seconds[KINDS[func]] += time.thread_time() - started
        return result
