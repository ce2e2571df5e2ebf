"""One call of our entmax, forward and backward, beside the `entmax` package: bisection, and 1.5-entmax by sorting.

The error of both sides is measured against the package's bisection in float64 with 100 iterations, in the weights and
in the gradient of the scores; ours must not be the larger one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version

import entmax as package
import torch
from torch import Tensor

from benchmarks.rounds import Line, tell_round
from headcount.model.entmax import entmax, entmax15

ROUNDS = 9
SHAPES = ((32, 8, 64, 64), (8, 8, 256, 256))
"""[batch, head, query, key]"""
ITERATIONS, ITERATIONS_EXACT = 50, 100

Call = Callable[[Tensor, Tensor], Tensor]
"""From scores [batch, head, query, key] and α [head] to weights."""


def compare(names: tuple[str, ...]) -> list[Line]:
    """Measure one of the two functions; the line reports the shape where the ratio is worse."""
    torch.set_num_threads(1)
    return [_line(name) for name in names]


def _line(name: str) -> Line:
    mine, theirs, what = FUNCTIONS[name]
    learned = name == "entmax_vs_bisect50"
    lines, said = [], []
    for number, shape in enumerate(SHAPES):
        error = errors(mine, shape, learned), errors(theirs, shape, learned)
        rates: tuple[list[float], list[float]] = ([], [])
        scores, alpha, upstream = _inputs(shape, torch.float32)
        for call in (mine, theirs):
            _seconds(call, scores, alpha, upstream, learned)
        for turn in range(ROUNDS):
            for call, own in zip((mine, theirs), rates, strict=True):
                own.append(1 / _seconds(call, scores, alpha, upstream, learned))
            tell_round(number * ROUNDS + turn + 1, len(SHAPES) * ROUNDS)
        line = Line(name, "calls per CPU-second", *rates, peer_version=f"entmax {version('entmax')}")
        lines.append(line)
        said.append(f"{list(shape)}: {line.record({})['ratio']:.3g}x, {_told(*error)}")
    worse = min(lines, key=lambda line: line.record({})["ratio"])
    worse.conditions.update(
        {
            "call": f"forward and backward of {what}",
            "scores": "normal, sd 1, float32, no mask; α of eight heads from 1.05 to 1.95"
            if learned
            else "normal, sd 1",
            "shapes": "; ".join(said),
            "time": "CPU time of a call, the two in turn in one process; the line is the worse shape",
        }
    )
    return worse


def _bisect(iterations: int) -> Call:
    def call(scores: Tensor, alpha: Tensor) -> Tensor:
        weights: Tensor = package.entmax_bisect(scores, alpha[:, None, None], dim=-1, n_iter=iterations)
        return weights

    return call


FUNCTIONS: dict[str, tuple[Call, Call, str]] = {
    "entmax_vs_bisect50": (
        lambda scores, alpha: entmax(scores, alpha, None),
        _bisect(ITERATIONS),
        f"α-entmax with the gradient of α, beside entmax_bisect with {ITERATIONS} iterations",
    ),
    "entmax15_vs_sort": (
        lambda scores, alpha: entmax15(scores, None),
        lambda scores, alpha: package.entmax15(scores, dim=-1),
        "1.5-entmax, beside the package's entmax15, which sorts",
    ),
}


def errors(call: Call, shape: tuple[int, ...], learned: bool) -> tuple[float, float]:
    """Return the largest error of the weights and of the gradient of the scores, on one batch entry of the shape."""
    scores, alpha, upstream = (part[:1] if part.ndim > 1 else part for part in _inputs(shape, torch.float64))
    alpha = alpha if learned else torch.full_like(alpha, 1.5)
    exact = _forward_backward(_bisect(ITERATIONS_EXACT), scores, alpha, upstream, learned)
    found = _forward_backward(call, scores.float(), alpha.float(), upstream.float(), learned)
    weights, gradient = (float((a.double() - b).abs().max()) for a, b in zip(found[:2], exact[:2], strict=True))
    return weights, gradient


def _told(mine: tuple[float, float], theirs: tuple[float, float]) -> str:
    return (
        f"largest error of weights {mine[0]:.0e} against {theirs[0]:.0e}, "
        f"of gradients {mine[1]:.0e} against {theirs[1]:.0e}"
    )


def _inputs(shape: tuple[int, ...], precision: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(shape, generator=generator).to(precision)
    upstream = torch.randn(shape, generator=generator).to(precision)
    return scores, torch.linspace(1.05, 1.95, shape[1]).to(precision), upstream


def _seconds(call: Call, scores: Tensor, alpha: Tensor, upstream: Tensor, learned: bool) -> float:
    started = time.process_time()
    _forward_backward(call, scores, alpha, upstream, learned)
    return time.process_time() - started


def _forward_backward(
    call: Call, scores: Tensor, alpha: Tensor, upstream: Tensor, learned: bool
) -> tuple[Tensor, Tensor]:
    """Return weights and the gradient of the scores."""
    scores, alpha = scores.detach().requires_grad_(), alpha.detach().requires_grad_(learned)
    weights = call(scores, alpha)
    weights.backward(upstream)
    assert scores.grad is not None
    return weights.detach(), scores.grad
