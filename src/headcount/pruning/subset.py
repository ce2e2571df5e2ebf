"""Differentiable subset pruning: training a model together with the choice of the K heads it keeps (Li et al. 2021)."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Any

from torch import nn

from headcount.errors import UserError
from headcount.heads import Heads, flat, total, without
from headcount.model.surgery import remove_heads
from headcount.model.topk import Estimator, SubsetGate, SubsetMask
from headcount.model.transformer import Transformer
from headcount.model.weights import build
from headcount.pruning.ranking import warn_of_empty_types
from headcount.train.hooks import NoHook
from headcount.train.optim import Group, constant, trainable

log = logging.getLogger(__name__)

NAME = "subset"
"""Name of the mask among the modules of the model."""

SETTLED = 0.9
"""Mass of the recent masks on the heads that stay, below which people are told."""


def attach(model: Transformer, *, keep: int, estimator: Estimator) -> SubsetMask:
    """Put one mask over all heads of a trained model, in place; it is saved with the model.

    Raises:
        UserError: the model has fewer than `keep` heads, or none is to stay.

    """
    heads = total(model.config.kept)
    if not 1 <= keep <= heads:
        raise UserError(f"subset.heads: {keep} heads cannot stay in a model of {heads}; allowed: 1 to {heads}")
    mask = SubsetMask(heads, keep=keep, estimator=estimator).to(model.output_weight.device)
    first = 0
    for attention in model.attentions().values():
        if attention.kept:
            attention.gate = SubsetGate(mask, first, len(attention.kept))
            first += len(attention.kept)
    model.add_module(NAME, mask)
    return mask


def parameter_groups(model: Transformer, *, learning_rate: float, gate_learning_rate: float) -> list[Group]:
    """Divide the trained parameters into the weights and the importances w, each group at its constant rate."""
    named = trainable(model)
    of_mask = {name: named.pop(name) for name in list(named) if name.startswith(f"{NAME}.")}
    return [
        Group(named, functools.partial(constant, rate=learning_rate)),
        Group(of_mask, functools.partial(constant, rate=gate_learning_rate)),
    ]


def temperature(update: int, *, updates: int, start: float, end: float) -> float:
    """Fall exponentially from `start` at update 1 to `end` at update `updates`."""
    return float(start * (end / start) ** ((update - 1) / max(updates - 1, 1)))


def kept(model: Transformer) -> Heads:
    """Return the heads of the K largest importances."""
    existing = model.config.kept
    factors = _mask(model).chosen().tolist()
    gone = [head for head, factor in zip(flat(existing), factors, strict=True) if not factor]
    return without(existing, gone, model.config.heads)


def pruned(model: Transformer) -> Transformer:
    """Return a plain model of exactly K heads, equal to `model` in evaluation mode."""
    heads = kept(model)
    warn_of_empty_types(heads)
    own = {name: value for name, value in model.state_dict().items() if not name.startswith(f"{NAME}.")}
    return build(*remove_heads(own, model.config, heads))


class SubsetHook(NoHook):
    """Sets the temperature of each update and reports the mask.

    Args:
        updates: of the whole training.
        temperature_start: t of update 1.
        temperature_end: t of the last update.

    """

    def __init__(self, *, updates: int, temperature_start: float, temperature_end: float) -> None:
        self._temperature = functools.partial(
            temperature, updates=updates, start=temperature_start, end=temperature_end
        )

    def start(self, model: nn.Module, update: int) -> None:
        """Find the mask and set the temperature of the first update of this process.

        Raises:
            ValueError: the model has none.

        """
        assert isinstance(model, Transformer)
        self._mask = _mask(model)
        self._mask.temperature = self._temperature(update + 1)

    def loss_term(self, update: int) -> None:
        """Set the temperature of the next update, for the gradient of this one is there; nothing is added."""
        self._mask.temperature = self._temperature(update + 1)

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return what the relaxation is like.

        `heads/kept` is K, `subset/temperature` the t of this update, `subset/mass` the share of the masks of about the
        last 20 batches that was on the K heads that would stay now: 1 where the choice is made, in training as well.
        """
        return {
            "heads/kept": int(self._mask.chosen().sum()),
            "subset/temperature": self._temperature(update),
            "subset/mass": float(self._mask.mass()),
        }

    def finish(self, model: nn.Module) -> None:
        """Say loudly if the heads that stay were trained along with others, whose removal then costs quality."""
        mass = float(self._mask.mass())
        if mass < SETTLED:
            log.warning(
                "only %.2f of the last masks was on the heads that stay; the others are removed all the same: "
                "raise subset.updates or subset.gate_learning_rate",
                mass,
            )


def _mask(model: Transformer) -> SubsetMask:
    mask = getattr(model, NAME, None)
    if not isinstance(mask, SubsetMask):
        raise ValueError("the model has no mask; call `attach` first")
    return mask
