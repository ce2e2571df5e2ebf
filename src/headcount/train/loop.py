"""The training loop: updates, reports, checkpoints. It knows nothing of pruning.

Random numbers are a function of (seed, update, rank) and the data order is a function of the position, so a run that
was stopped anywhere and started again ends, on the CPU, with the same bytes as one that never stopped.
"""

from __future__ import annotations

import hashlib
import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headcount.errors import NonFiniteError
from headcount.model.chance import common
from headcount.train.averaging import Average
from headcount.train.checkpoint import Checkpoints, State
from headcount.train.device import autocast, hidden_for
from headcount.train.distributed import ALONE, Ranks
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
    validate: Callable[[Transformer], Mapping[str, float]],
    validate_every_updates: int,
    start: State | None = None,
    hooks: Sequence[Hook] = (),
    ranks: Ranks = ALONE,
) -> Summary:
    """Train the model in place until `updates` are made or a hook is done, from the newest checkpoint if there is one.

    A training that ends early is validated, reported and saved as at its planned end. Its last weights are taken as
    they are, since the averaging points are counted back from an update that it never reached.

    Several ranks make the same updates as one: each takes its share of every batch, and what happens between two
    updates happens on all of them alike, but for what rank 0 does alone: journal, validation, checkpoints.

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
        checkpoints: of this run; they say when one is due.
        validate: measures the model in evaluation mode; its values go into the journal.
        validate_every_updates: distance of two validations; the last update made is always followed by one.
        start: where a run without a checkpoint starts; None: at update 0 with the model as it is.
        hooks: of the pruning method.
        ranks: processes that train this model together.

    Raises:
        InterruptedRun: a signal asked to stop; the checkpoint of the current update is written.
        NonFiniteError: too many updates in a row had a loss or a gradient that is not finite.
        UserError: the disk is full, or another rank ended.

    """
    device = model.output_weight.device
    progress = Progress(model, optimiser, average)
    saved = ranks.from_first(checkpoints.latest)
    if (state := saved or start) is not None:
        progress.restore(state)
    lines = ranks.from_first(lambda: journal.rewind(progress.update))
    for hook in hooks:
        hook.start(model, progress.update)
    ranks.check_equal(model, progress.update)
    model.train()
    hidden = hidden_for(model, updates)
    done = any(hook.done(progress.update) for hook in hooks)  # in a process before this one
    last = done or progress.update == updates
    validation_due = last or progress.update % validate_every_updates == 0

    with StopRequest() as stop:
        if saved is not None and validation_due and not _validated(lines, progress.update):
            # The process before was stopped while it did.
            ranks.from_first(lambda: _validate(validate, progress, journal, stop, precision))
        for update in range(progress.update + 1, (progress.update if done else updates) + 1):
            torch.manual_seed(_random_seed(seed, update, ranks.rank))
            window = [batches.at(progress.position + index) for index in range(accumulate_batches)]
            tokens = sum(batch.target_tokens for batch in window)

            optimiser.zero_grad()
            loss_sum, nll_sum = torch.zeros(2, device=device)
            for index, batch in enumerate(window):
                with autocast(device, precision), common(_random_seed(seed, update, "common", index), device):
                    loss, nll = batch_loss(
                        model, ranks.share(batch), smoothing=label_smoothing, device=device, hidden=hidden
                    )
                # The mean is over the real target tokens of the whole update, however it is cut into batches.
                torch.autograd.backward(loss / max(tokens, 1))
                loss_sum, nll_sum = loss_sum + loss.detach(), nll_sum + nll
            loss_sum, nll_sum = ranks.add_up(optimiser.gradients(), (loss_sum, nll_sum))
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
                streak = _report(progress, journal if ranks.first else None, updates, hooks, last=last)
                if streak > skipped_updates:
                    raise NonFiniteError(
                        f"loss or gradient was not finite in {streak} updates in a row before update {update}; "
                        f"last good checkpoint: {checkpoints.newest()}; try a lower learning rate"
                    )
            save_due = validation_due or (ranks.first and checkpoints.due(update))
            signalled, saves = ranks.agree(stop.received or 0, save_due)
            if signalled or saves:
                ranks.from_first(lambda: checkpoints.save(progress.state()))
                (signalled,) = ranks.agree(stop.received or 0)  # one may have come while it was saved, for long perhaps
                if signalled:
                    stop.received = signal.Signals(signalled)  # perhaps on another rank
                    raise stop.error(update)
            if validation_due:
                ranks.check_equal(model, update)
                ranks.from_first(lambda: _validate(validate, progress, journal, stop, precision))
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


def _report(progress: Progress, journal: Journal | None, updates: int, hooks: Sequence[Hook], *, last: bool) -> int:
    """Write a journal line, and now and then one for people; return the longest streak of skipped updates."""
    update = progress.update
    reading = progress.meter.read()
    if journal is None:
        return reading.longest_streak
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


def _validate(
    validate: Callable[[Transformer], Mapping[str, float]],
    progress: Progress,
    journal: Journal,
    stop: StopRequest,
    precision: str,
) -> None:
    """Measure the model and write a journal line; a signal ends it at once: all is saved, it is made anew on resume."""
    model = progress.model
    model.eval()
    with torch.no_grad(), autocast(model.output_weight.device, precision), stop.at_once(progress.update):
        values = validate(model)
    model.train()
    journal.write(update=progress.update, **_spent(progress), **values)
    progress.start_interval()


def _validated(lines: Sequence[Mapping[str, Any]], update: int) -> bool:
    """Tell whether a journal holds the validation of an update; a report of training has a loss."""
    return any(line["update"] == update and "loss" not in line for line in lines)


def _spent(progress: Progress) -> dict[str, Any]:
    return {"tokens": progress.tokens, "seconds": progress.seconds, "cpu_seconds": progress.cpu_seconds}


def _random_seed(*parts: int | str) -> int:
    return int.from_bytes(hashlib.blake2b(" ".join(map(str, parts)).encode(), digest_size=8).digest()) >> 1
