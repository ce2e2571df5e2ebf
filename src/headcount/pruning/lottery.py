"""Lottery tickets: rank heads early in training, rewind what is left, repeat (behnke2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch

from headcount.data.encoded import Encoded
from headcount.heads import Head, Heads, without
from headcount.model.shape import ModelConfig
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.model.weights import build
from headcount.pruning.ranking import lowest, warn_of_empty_types
from headcount.registry import load
from headcount.train.checkpoint import State, branch
from headcount.train.optim import trainable


@dataclass(frozen=True)
class Round:
    """What one round decided.

    Attributes:
        kept: heads of the next round.
        removed: heads that went, lowest score first.
        scores: attention type -> layer -> score of each head that the round's model had, in the order of its ids.

    """

    kept: Heads
    removed: list[Head]
    scores: dict[str, list[list[float]]]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `heads.json`."""
        return {"kept": self.kept, "removed": [list(head) for head in self.removed], "scores": self.scores}


def prune(
    model: Transformer,
    corpus: Encoded,
    *,
    scorer: str,
    heads_per_round: int,
    ranking: Literal["global", "per_type", "per_layer"],
    least_per_layer: int,
    scope: Literal["encoder", "all"],
    seed: int,
) -> Round:
    """Score the heads that the model has and choose those that go; the model stays as it is.

    Args:
        model: trained for the round.
        corpus: the dev set.
        scorer: a file of `pruning/scorers`.
        heads_per_round: heads of all attentions of the scope together.
        ranking: with
        least_per_layer: and
        scope: see `ranking.lowest`.
        seed: of a scorer that draws.

    Raises:
        UserError: the scorer is unknown, a score is not finite or too few heads are left.

    """
    scores = load("pruning.scorers", scorer).score_heads(model, corpus, seed=seed)
    removed = lowest(
        scores,
        model.config.kept,
        remove=heads_per_round,
        ranking=ranking,
        least_per_layer=least_per_layer,
        scope=scope,
    )
    kept = without(model.config.kept, removed, model.config.heads)
    warn_of_empty_types(kept)
    return Round(kept, removed, {kind: [layer.tolist() for layer in layers] for kind, layers in scores.items()})


def rewind(
    state: State,
    config: ModelConfig,
    kept: Heads,
    *,
    moments: Literal["rewound", "fresh"] = "rewound",
    schedule: Literal["rewound", "restarted"] = "rewound",
) -> tuple[Transformer, State]:
    """Return a model of the kept heads and the state of training from which it goes on.

    Every surviving weight is that of the checkpoint, bit for bit, and so are both of its Adam moments unless they are
    to be fresh. Update, position in the data and Adam's step count, and with them learning rate and random numbers, go
    on from there; a restarted schedule counts updates from 0, over the batches that follow the checkpoint's.

    Args:
        state: the baseline's checkpoint at the rewind update.
        config: of the model in that checkpoint.
        kept: original ids of the heads that stay.
        moments: Adam's moments of the checkpoint, without those of removed heads, or zeros.
        schedule: goes on where the checkpoint stands, or starts again with its warm-up.

    """
    weights, smaller = remove_heads(state["model"], config, kept)
    model = build(weights, smaller)
    trained = trainable(model)  # not the empty projections of a layer without heads
    sliced = {
        moment: {name: value for name, value in remove_heads(values, config, kept)[0].items() if name in trained}
        for moment, values in state["moments"].items()
    }
    start = branch(state, model=weights, moments=sliced)
    if moments == "fresh":
        zeros = {moment: {name: torch.zeros_like(value) for name, value in of.items()} for moment, of in sliced.items()}
        start = {**start, "moments": zeros, "steps": 0}
    return model, {**start, "update": 0} if schedule == "restarted" else start
