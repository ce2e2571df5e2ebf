"""Label-smoothed cross-entropy of the output layer without keeping the logits.

The gradient is formed in the forward pass, chunk by chunk, so the memory is one chunk of logits instead of
target tokens x vocabulary. Smoothing as in PyTorch's `cross_entropy`: (1 - e) * nll + e * mean over the
vocabulary of -log p (Szegedy et al. 2016, section 7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from headcount.model.products import product
from headcount.train.device import ALIGNED, Hidden
from headcount.vocabulary import PAD

if TYPE_CHECKING:
    from headcount.data.batching import Batch
    from headcount.model.transformer import Transformer

CHUNK_ROWS = {"cpu": 1024, "cuda": 8192}
"""Target tokens whose logits are held at once: one matrix product keeps a core or a GPU busy at these sizes."""

LEAST = 1e-38
"""A less probable gold piece counts as one of this probability, 87 nats, in the loss; its gradient is exact."""


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        targets: torch.Tensor,
        smoothing: float,
        with_gradient: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        precision = torch.promote_types(hidden.dtype, torch.float32)
        loss_sum = hidden.new_zeros((), dtype=precision)
        nll_sum = hidden.new_zeros((), dtype=precision)
        of_hidden = torch.empty_like(hidden) if with_gradient and ctx.needs_input_grad[0] else None
        of_weight = torch.zeros_like(weight) if with_gradient and ctx.needs_input_grad[1] else None

        # The part e/V that smoothing takes from every slope goes into the products as a whole.
        even = smoothing / len(weight)
        of_even = even * weight.sum(0)  # [width]
        rows = CHUNK_ROWS[hidden.device.type]
        for begin in range(0, len(hidden), rows):
            chunk = hidden[begin : begin + rows]  # [token, width]
            gold = targets[begin : begin + rows, None]  # [token, 1]
            logits = product(chunk, weight).to(precision)  # [token, piece]
            of_gold = logits.gather(1, gold)  # [token, 1]
            p = torch.softmax(logits, 1, out=logits)  # [token, piece], where the logits were
            # log p at one piece gives log sum exp of the logits, and no further pass over all of them is needed
            nll_of_token = -p.gather(1, gold).clamp_min(LEAST).log()  # [token, 1]
            log_total = of_gold + nll_of_token  # [token, 1]
            nll = nll_of_token.sum()
            nll_sum += nll
            loss_sum += (1 - smoothing) * nll + smoothing * log_total.sum() - (chunk @ of_even).sum()
            if of_hidden is None and of_weight is None:
                continue
            p.scatter_add_(1, gold, p.new_full(gold.shape, smoothing - 1))
            slope = p.to(chunk.dtype)  # d loss / d logits + e/V, [token, piece]
            if of_hidden is not None:
                of_hidden[begin : begin + rows] = product(slope, weight.T).sub_(of_even)
            if of_weight is not None:
                of_weight += slope.T @ chunk
        if of_weight is not None:
            of_weight -= even * hidden.sum(0)

        ctx.save_for_backward(of_hidden, of_weight)
        ctx.mark_non_differentiable(nll_sum)
        return loss_sum, nll_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        gradients = (None if saved is None else saved * upstream for saved in ctx.saved_tensors)
        return *gradients, None, None, None


def label_smoothed_loss(
    hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, *, smoothing: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the smoothed loss and the plain negative log likelihood, both summed over the tokens, in nats.

    Args:
        hidden: final decoder states [token, width], padding already removed.
        weight: output layer without bias [piece, width].
        targets: gold piece ids [token].
        smoothing: probability mass spread evenly over all pieces.

    Only the first result has a gradient; it has no second derivative. No token at all gives 0, never NaN.

    """
    result: tuple[torch.Tensor, torch.Tensor] = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, targets, smoothing, torch.is_grad_enabled()
    )
    return result


def batch_loss(
    model: Transformer, batch: Batch, *, smoothing: float, device: torch.device, hidden: Hidden | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return smoothed loss and negative log likelihood of a batch on the CPU, summed over its real target tokens.

    `hidden` stands in for the model's method of that name, for instance compiled.
    """
    if device.type == "cuda":
        batch = batch.aligned(ALIGNED)
    # Padding is dropped before the batch leaves the CPU: on a GPU this would wait for all queued work.
    output = batch.target_output.flatten()  # [sentence * target]
    real = (output != PAD).nonzero().squeeze(1)  # [token]
    source, target_input, gold, real = (
        _on(device, part) for part in (batch.source, batch.target_input, output[real], real)
    )
    states = (hidden or model.hidden)(source, target_input).flatten(0, 1)  # [sentence * target, width]
    return label_smoothed_loss(states.index_select(0, real), model.output_weight, gold, smoothing=smoothing)


def _on(device: torch.device, tensor: torch.Tensor) -> torch.Tensor:
    """Copy to a GPU without waiting for it; pinned memory is what makes that possible."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
