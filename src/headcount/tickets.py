"""The runs of the lotteries of one corpus and seed: rounds, tickets and their controls; free of torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headcount.arms import Arms, Run
from headcount.methods import Lottery, with_variants

REWOUND = ("rewind_update", "moments", "schedule", "data_order")
"""Keys of the section `lottery` that decide how a ticket is trained."""


def tickets(arms: Arms) -> Iterator[Run]:
    """Yield the rounds of each lottery and the tickets they lead to, each with the controls that hang on it."""
    for variant, lottery in with_variants(arms.study.lottery).items():
        for normaliser in lottery.normalisers:
            yield from _lottery(arms, lottery, variant, normaliser)


def _lottery(arms: Arms, lottery: Lottery, variant: str, normaliser: str) -> Iterator[Run]:
    dense, begin = arms.of(normaliser, variant)
    everything = arms.study.heads[lottery.scope]
    shared = lottery.model_dump(
        mode="json", exclude={"tickets", "controls", "longer_learning_rates", "variants", "normalisers"}
    )
    rounds = {kept: (everything - kept) // lottery.heads_per_round for kept in lottery.tickets}
    common: dict[str, Any] = {"scope": lottery.scope, "variant": variant}
    before: list[str] = []
    for number in range(1, max(rounds.values(), default=0) + 1):
        drawn = arms.run(
            f"{begin}round-{number:02d}",
            "lottery_round",
            "round",
            normaliser,
            parents=[dense, *before],
            setting=f"round {number}",
            **common,
            lottery={**shared, "round": number},
        )
        yield drawn
        before = [drawn.run]
    for kept, number in sorted(rounds.items(), reverse=True):
        yield from _ticket(arms, lottery, variant, normaliser, kept, number, shared)


def _ticket(
    arms: Arms,
    lottery: Lottery,
    variant: str,
    normaliser: str,
    kept: int,
    number: int,
    shared: dict[str, Any],
) -> Iterator[Run]:
    """Yield the ticket of so many heads, drawn in round `number`, and its controls."""
    dense, begin = arms.of(normaliser, variant)
    last = arms.id(f"{begin}round-{number:02d}")
    heads = "encoder heads" if lottery.scope == "encoder" else "heads"
    common: dict[str, Any] = {
        "scope": lottery.scope,
        "setting": f"{kept} of {arms.study.heads[lottery.scope]} {heads}",
        "target_heads": kept,
    }
    rewound: dict[str, Any] = {
        "parents": [dense, last],
        **common,
        "lottery": {**{key: shared[key] for key in REWOUND}, "round": number},
    }
    yield arms.run(f"{begin}ticket-{kept}", "train_ticket", "ticket", normaliser, variant=variant, **rewound)
    if lottery.has("same_counts", kept):
        yield arms.run(
            f"{begin}same_counts-{kept}",
            "train_ticket",
            "same_counts",
            normaliser,
            variant=variant,
            **rewound,
            removal={"select": "same_counts"},
        )
    fresh: dict[str, Any] = {"parents": [last], **common, "model": arms.model(normaliser)}
    if lottery.has("reinit", kept):
        yield arms.run(f"{begin}reinit-{kept}", "train_reinit", "reinit", normaliser, variant=variant, **fresh)
    if lottery.has("reinit_longer", kept):
        training = arms.study.training
        updates = training.updates + number * lottery.round_updates
        for rate in sorted(lottery.longer_learning_rates):
            yield arms.run(
                f"{begin}reinit_longer-{kept}-{rate:g}",
                "train_reinit",
                "reinit_longer",
                normaliser,
                variant=f"{begin}{rate:g}",
                training={**training.model_dump(mode="json"), "updates": updates, "learning_rate": rate},
                **fresh,
            )
