"""Heads of a trained model go by their score, all at once or in steps while the rest is trained (behnke2020's rivals).

Removal after training is what Michel et al. 2019 do to a converged model and what the lottery claims to beat. All
attention types are ranked together and no layer is guaranteed a head.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.heads import Heads, flat, total, without
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.model.weights import build
from headcount.pruning.ranking import lowest, warn_of_empty_types
from headcount.registry import load
from headcount.train.hooks import NoHook

log = logging.getLogger(__name__)

CHOSEN = "chosen_heads"
"""Name of the buffer in which a model's checkpoints remember which heads it has."""


class HeadMask(nn.Module):
    """A factor for each head of an attention, 1 until it is masked; checkpoints hold it, unlike a `FixedGate`."""

    factors: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("factors", torch.ones(heads))  # [head]

    def forward(self) -> Tensor:
        """Return the factor of each head, [head]."""
        return self.factors


def attach(model: Transformer) -> None:
    """Put a mask that hides nothing on every attention that has heads, in place."""
    for attention in model.attentions().values():
        if attention.kept:
            attention.gate = HeadMask(len(attention.kept)).to(model.output_weight.device)


def unmasked(model: Transformer) -> Heads:
    """Return the heads that no mask hides."""
    heads = {kind: [list(ids) for ids in layers] for kind, layers in model.config.kept.items()}
    for (kind, layer), mask in _masks(model).items():
        seen = mask.factors.tolist()
        heads[kind][layer] = [head for head, factor in zip(heads[kind][layer], seen, strict=True) if factor]
    return heads


def reduced(model: Transformer, kept: Heads) -> Transformer:
    """Return a model of its own that has the `kept` heads and no masks, in evaluation mode.

    Raises:
        UserError: `kept` names a head that the model does not have.

    """
    return build(*remove_heads(model.state_dict(), model.config, kept))


def survivors(model: Transformer, corpus: Encoded, *, scorer: str, heads: int, seed: int) -> Heads:
    """Return the `heads` heads of the highest score; the model stays as it is.

    Args:
        model: without masks, so that every head it has is scored.
        corpus: the dev set.
        scorer: a file of `pruning/scorers`.
        heads: that stay, of all attention types together.
        seed: of a scorer that draws.

    Raises:
        UserError: the scorer is unknown, a score is not finite or the model has fewer heads.

    """
    existing = model.config.kept
    scores = load("pruning.scorers", scorer).score_heads(model, corpus, seed=seed)
    gone = lowest(scores, existing, remove=total(existing) - heads, ranking="global", least_per_layer=0, scope="all")
    kept = without(existing, gone, model.config.heads)
    warn_of_empty_types(kept)
    return kept


def heads_left(update: int, *, before: int, after: int, steps: int, updates: int) -> int:
    """Return how many of `before` heads are left once `update` of `updates` updates are made.

    Step k = 0, 1, ... steps - 1 comes as soon as k / (steps + 1) of the updates are made: the first before any, for the
    model is trained already, and the last early enough that twice the distance of two steps is left to recover. After
    step k, (k + 1) / steps of the heads that are to go are gone, rounded down.
    """
    made = min(update * (steps + 1) // updates + 1, steps)
    return before - (before - after) * made // steps


class GradualHook(NoHook):
    """Masks the heads of the lowest score step by step; before each step those that remain are scored anew.

    The remaining heads are scored in a model that has no others, so that neither score nor rank of a masked head
    counts. One step is the removal of all heads at once, before the first update.

    Args:
        corpus: the dev set, on which heads are scored.
        scorer: a file of `pruning/scorers`.
        heads: that are left in the end, of all attention types together.
        steps: in which the others go, see `heads_left`.
        updates: of the whole training.
        seed: of a scorer that draws.

    Raises:
        UserError: there is no step or no update.

    """

    def __init__(self, corpus: Encoded, *, scorer: str, heads: int, steps: int, updates: int, seed: int) -> None:
        if min(steps, updates) < 1:
            raise UserError(f"{steps} steps in {updates} updates: both must be at least 1")
        self._corpus, self._scorer, self._seed = corpus, scorer, seed
        self._heads, self._steps, self._updates = heads, steps, updates

    def start(self, model: nn.Module, update: int) -> None:
        """Read off the masks what was removed in a process before this one.

        Raises:
            ValueError: the model has no masks.
            UserError: it has fewer heads than are to be left.

        """
        assert isinstance(model, Transformer)
        self._model = model
        self._before = total(model.config.kept)
        self._kept = unmasked(model)
        if not _masks(model):
            raise ValueError("the model has no masks; call `attach` first")
        if not 0 <= self._heads <= self._before:
            raise UserError(f"{self._heads} heads cannot be left of {self._before}; allowed: 0 to {self._before}")

    def done(self, update: int) -> bool:
        """Mask what is due after this update, which the checkpoint of it then knows; never end the training.

        The masks say what was done before, so asking twice masks nothing twice.
        """
        wanted = heads_left(update, before=self._before, after=self._heads, steps=self._steps, updates=self._updates)
        if wanted < total(self._kept):
            remaining = reduced(self._model, self._kept)
            self._kept = survivors(remaining, self._corpus, scorer=self._scorer, heads=wanted, seed=self._seed)
            for (kind, layer), mask in _masks(self._model).items():
                ids = self._kept[kind][layer]
                seen = [float(head in ids) for head in self._model.config.kept[kind][layer]]
                mask.factors.copy_(torch.tensor(seen))
            log.info("update %d: %d of %d heads are left", update, wanted, self._before)
        return False

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return the number of heads that are not masked."""
        return {"heads/kept": total(self._kept)}


class SameHeadsHook(NoHook):
    """Refuses to go on from a checkpoint of other heads than the model's.

    Heads are chosen anew when a run goes on. Scores are rounded in another way on another machine, and weights of one
    head in the place of another would go unnoticed, since their shapes are equal.

    Args:
        model: without the heads that were chosen to go; remembers its heads until the training is finished.

    """

    def __init__(self, model: Transformer) -> None:
        self._ids = torch.tensor([head for _, _, head in flat(model.config.kept)], dtype=torch.int64)  # [head]
        model.register_buffer(CHOSEN, self._ids.to(model.output_weight.device, copy=True))

    def start(self, model: nn.Module, update: int) -> None:
        """Compare the heads.

        Raises:
            UserError: they differ.

        """
        if not torch.equal(model.get_buffer(CHOSEN).cpu(), self._ids):
            raise UserError(
                f"the checkpoint of update {update} has other heads than the scores choose on this machine; "
                "delete the checkpoints of this run to start it anew"
            )

    def finish(self, model: nn.Module) -> None:
        """Forget the heads, which `model.json` names from now on."""
        delattr(model, CHOSEN)


def _masks(model: Transformer) -> dict[tuple[str, int], HeadMask]:
    """Return the masks by attention type and layer."""
    return {
        place: attention.gate for place, attention in model.attentions().items() if isinstance(attention.gate, HeadMask)
    }
