"""The training loop: updates, reports, checkpoints. It knows nothing of pruning.

Random numbers are a function of (seed, update) and the data order is a function of the position, so a run that was
stopped anywhere and started again ends, on the CPU, with the same bytes as one that never stopped.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headcount.errors import InterruptedRun, NonFiniteError
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, State
from headcount.train.device import autocast
from headcount.train.hooks import Hook
from headcount.train.journal import Journal
from headcount.train.loss import batch_loss
from headcount.train.optim import NamedAdam
from headcount.train.progress import Progress
from headcount.train.stop import StopRequest

if TYPE_CHECKING:
    from headcount.data.batching import TokenBatches
    from headcount.model.transformer import Transformer

log = logging.getLogger(__name__)

JOURNAL_EVERY_UPDATES = 20
"""Distance of two journal lines: seconds apart, and on a GPU the only moments at which the CPU waits for it."""


@dataclass(frozen=True)
class Summary:
    """What a finished training came to; seconds are wall time and CPU time of all its processes."""

    updates: int
    tokens: int
    seconds: float
    cpu_seconds: float


def train(
    model: Transformer,
    batches: TokenBatches,
    *,
    optimiser: NamedAdam,
    average: Average,
    seed: int,
    updates: int,
    accumulate_batches: int,
    label_smoothing: float,
    clip_norm: float,
    skipped_updates: int,
    precision: str,
    journal: Journal,
    checkpoints: Checkpoints,
    checkpoint_every_updates: int,
    validate: Callable[[Transformer], Mapping[str, float]],
    validate_every_updates: int,
    start: State | None = None,
    hooks: Sequence[Hook] = (),
) -> Summary:
    """Train the model in place until `updates` are made or a hook is done, from the newest checkpoint if there is one.

    A training that ends early is validated, reported and saved as at its planned end. Its last weights are taken as
    they are, since the averaging points are counted back from an update that it never reached.

    Args:
        model: on the device where it is trained.
        batches: read from the position where the run stands.
        optimiser: over the parameters of `model` that are trained.
        average: gives the final weights.
        seed: of dropout and of whatever else a model draws.
        updates: optimiser updates from the very start of training, those before `start` included.
        accumulate_batches: batches summed into one update.
        label_smoothing: mass spread over all pieces.
        clip_norm: limit of the gradient norm; 0 turns it off.
        skipped_updates: non-finite updates in a row that are forgiven.
        precision: auto, float32 or bfloat16.
        journal: gets a line every `JOURNAL_EVERY_UPDATES`, and one of the validation.
        checkpoints: of this run.
        checkpoint_every_updates: distance of two checkpoints.
        validate: measures the model in evaluation mode; its values go into the journal.
        validate_every_updates: distance of two validations; the last update made is always followed by one.
        start: where a run without a checkpoint starts; None: at update 0 with the model as it is.
        hooks: of the pruning method.

    Raises:
        InterruptedRun: a signal asked to stop; the checkpoint of the current update is written.
        NonFiniteError: too many updates in a row had a loss or a gradient that is not finite.
        UserError: the disk is full.

    """
    device = model.output_weight.device
    progress = Progress(model, optimiser, average)
    if (state := checkpoints.latest() or start) is not None:
        progress.restore(state)
    journal.rewind(progress.update)
    for hook in hooks:
        hook.start(model, progress.update)
    model.train()
    done = any(hook.done(progress.update) for hook in hooks)  # in a process before this one

    with StopRequest() as stop:
        for update in range(progress.update + 1, (progress.update if done else updates) + 1):
            torch.manual_seed(_random_seed(seed, update))
            window = [batches.at(progress.position + index) for index in range(accumulate_batches)]
            tokens = sum(batch.target_tokens for batch in window)

            optimiser.zero_grad()
            loss_sum, nll_sum = torch.zeros(2, device=device)
            for batch in window:
                with autocast(device, precision):
                    loss, nll = batch_loss(model, batch, smoothing=label_smoothing, device=device)
                # The mean is over the real target tokens of the whole update, however it is cut into batches.
                torch.autograd.backward(loss / max(tokens, 1))
                loss_sum, nll_sum = loss_sum + loss.detach(), nll_sum + nll
            for hook in hooks:
                if (term := hook.loss_term(update)) is not None:
                    torch.autograd.backward(term)
            norm, made = optimiser.step(update, clip_norm=clip_norm, loss=loss_sum)

            average.add(model, update)
            progress.meter.add(loss_sum, nll_sum, norm, tokens=tokens, made=made)
            progress.advance(batches=len(window), tokens=tokens)

            done = any(hook.done(update) for hook in hooks)
            last = done or update == updates
            validation_due = last or update % validate_every_updates == 0
            if validation_due or update % JOURNAL_EVERY_UPDATES == 0:
                streak = _report(progress, journal, updates, hooks, last=last)
                if streak > skipped_updates:
                    raise NonFiniteError(
                        f"loss or gradient was not finite in {streak} updates in a row before update {update}; "
                        f"last good checkpoint: {checkpoints.newest()}; try a lower learning rate"
                    )
            if validation_due:
                model.eval()
                with torch.no_grad(), autocast(device, precision):
                    values = validate(model)
                model.train()
                journal.write(update=update, **_spent(progress), **values)
                progress.start_interval()

            if stop.received or last or update % checkpoint_every_updates == 0 or update in checkpoints.keep:
                checkpoints.save(progress.state())
                if stop.received:
                    raise InterruptedRun(f"stopped by {stop.received.name} after update {update}; start again to go on")
            if last:
                break

    if progress.update < updates:
        log.info("done after update %d of %d", progress.update, updates)
    else:
        average.apply(model)
    model.eval()
    for hook in hooks:
        hook.finish(model)
    return Summary(updates=progress.update, **_spent(progress))


def _report(progress: Progress, journal: Journal, updates: int, hooks: Sequence[Hook], *, last: bool) -> int:
    """Write a journal line, and now and then one for people; return the longest streak of skipped updates."""
    update = progress.update
    reading = progress.meter.read()
    speed = progress.tokens_per_second()
    journal.write(
        update=update,
        **_spent(progress),
        loss=reading.loss,
        nll=reading.nll,
        learning_rate=progress.optimiser.rate(update),
        tokens_per_second=speed,
        gradient_norm=reading.gradient_norm,
        skipped=reading.skipped,
        **{key: value for hook in hooks for key, value in hook.after_step(update).items()},
    )
    if progress.due_to_tell(last=last):
        left = (updates - update) * (progress.tokens / update) / speed / 60
        log.info("update %d/%d  loss %.3f  %.0f tokens/s  %.1f min left", update, updates, reading.loss, speed, left)
    progress.start_interval()
    return reading.longest_streak


def _spent(progress: Progress) -> dict[str, Any]:
    return {"tokens": progress.tokens, "seconds": progress.seconds, "cpu_seconds": progress.cpu_seconds}


def _random_seed(seed: int, update: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed} {update}".encode(), digest_size=8).digest()) >> 1
