"""Heads of the lowest score go from a trained model, the rest is trained on: pruning after training, not before."""

from __future__ import annotations

import functools

from headcount.errors import UserError
from headcount.heads import total
from headcount.model import weights
from headcount.model.transformer import Transformer
from headcount.pruning.gradual import GradualHook, SameHeadsHook, attach, reduced, survivors, unmasked
from headcount.registry import nearest
from headcount.stages.begin.task import Beginning, Task, full_schedule, rewind_name
from headcount.train.checkpoint import State, branch, read
from headcount.train.optim import MOMENTS, Group, Moments, constant, trainable


def begin(task: Task) -> Beginning:
    """Load the dense model and set up one of the ways in which its heads go.

    Raises:
        UserError: the way or the scorer is unknown, the model has fewer heads than are to be left, or the training
            cannot be rewound to that update.

    """
    ways = {"one_shot": _one_shot, "iterative": _iterative, "rate_rewound": _rate_rewound}
    ranked = task.settings["ranked"]
    way, heads = ranked["way"], ranked["heads"]
    if way not in ways:
        raise UserError(f"ranked.way {way!r} is unknown{nearest(way, ways)}; allowed: {', '.join(ways)}")
    dense = weights.load(task.parents[0], task.device)
    existing = total(dense.config.kept)
    if not 0 <= heads <= existing:
        raise UserError(f"ranked.heads {heads} is not allowed; {task.parents[0]} has 0 to {existing} to be left")
    return ways[way](task, dense)


def _one_shot(task: Task, dense: Transformer) -> Beginning:
    """Remove the heads, then fine-tune at a constant rate with an own count of updates and fresh Adam moments."""
    model = _without_the_lowest(task, dense)
    return Beginning(
        model=model,
        groups=[_constant(task, model)],
        updates=task.settings["ranked"]["updates"],
        hooks=[SameHeadsHook(model)],
        finish=lambda: weights.save(model, task.out),
    )


def _iterative(task: Task, dense: Transformer) -> Beginning:
    """Fine-tune as in one shot, mask the heads in steps meanwhile and remove them physically at the end.

    The last weights are taken as they are: averaging would mix models of more heads into one of fewer.
    """
    ranked = task.settings["ranked"]
    attach(dense)
    hook = GradualHook(
        task.dev,
        scorer=ranked["scorer"],
        heads=ranked["heads"],
        steps=ranked["steps"],
        updates=ranked["updates"],
        seed=task.seed,
    )
    return Beginning(
        model=dense,
        groups=[_constant(task, dense)],
        updates=ranked["updates"],
        hooks=[hook],
        finish=lambda: weights.save(reduced(dense, unmasked(dense)), task.out),
    )


def _rate_rewound(task: Task, dense: Transformer) -> Beginning:
    """Remove the heads, then train from update x to the end once more (learning-rate rewinding, Renda et al. 2020).

    The weights are those of the finished model. Learning rate, position in the data and random numbers are those that
    the dense model had from update x + 1 on, so that a ticket of the same x differs in its heads, its weights and its
    moments only; x = 0 repeats the whole training. Adam's moments start anew: those of the last update, with which the
    authors' code goes on, belong to the weights before averaging and no finished run keeps them; those of update x
    belong to other weights.
    """
    rewind_update, updates = task.settings["ranked"]["rewind_update"], task.training["updates"]
    if not 0 <= rewind_update < updates:
        raise UserError(f"ranked.rewind_update {rewind_update} is not allowed; allowed: 0 to {updates - 1}")
    model = _without_the_lowest(task, dense)
    hook = SameHeadsHook(model)  # before the state is taken, of which its buffer is a part
    start: State | None = None
    if rewind_update:
        state = read(task.parents[0] / rewind_name(rewind_update))
        fresh: Moments = {moment: {} for moment in MOMENTS}
        start = {**branch(state, model=dict(model.state_dict()), moments=fresh), "steps": 0}
    return Beginning(
        model=model,
        groups=full_schedule(task, model),
        start=start,
        updates=updates,
        average_checkpoints=task.training["average_checkpoints"],
        hooks=[hook],
        finish=lambda: weights.save(model, task.out),
    )


def _without_the_lowest(task: Task, dense: Transformer) -> Transformer:
    ranked = task.settings["ranked"]
    return reduced(dense, survivors(dense, task.dev, scorer=ranked["scorer"], heads=ranked["heads"], seed=task.seed))


def _constant(task: Task, model: Transformer) -> Group:
    return Group(trainable(model), functools.partial(constant, rate=task.settings["ranked"]["learning_rate"]))
