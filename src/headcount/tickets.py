"""The runs of the lotteries of one corpus and seed: rounds, tickets and their controls; free of torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headcount.arms import Arms, Run, lotteries
from headcount.methods import Control, Lottery


def tickets(arms: Arms) -> Iterator[Run]:
    """Yield the rounds of each lottery and the tickets they lead to, each with the controls that hang on it."""
    for variant, lottery in lotteries(arms.study).items():
        for normaliser in lottery.normalisers:
            yield from _lottery(arms, lottery, variant, normaliser)


def _lottery(arms: Arms, lottery: Lottery, variant: str, normaliser: str) -> Iterator[Run]:
    dense, begin = arms.of(normaliser)
    begin += f"{variant}-" if variant else ""
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
        yield from _ticket(arms, lottery, variant, normaliser, kept, number, begin, shared)


def _ticket(
    arms: Arms,
    lottery: Lottery,
    variant: str,
    normaliser: str,
    kept: int,
    number: int,
    begin: str,
    shared: dict[str, Any],
) -> Iterator[Run]:
    """Yield the ticket of so many heads, drawn in round `number`, and its controls."""
    dense, _ = arms.of(normaliser)
    last = arms.id(f"{begin}round-{number:02d}")
    heads = "encoder heads" if lottery.scope == "encoder" else "heads"
    common: dict[str, Any] = {
        "scope": lottery.scope,
        "setting": f"{kept} of {arms.study.heads[lottery.scope]} {heads}",
        "target_heads": kept,
    }
    rewound = {**{key: shared[key] for key in REWOUND}, "round": number}
    controls: list[Control] = ["same_counts"]
    for method in ["ticket", *(name for name in controls if lottery.has(name, kept))]:
        chosen: dict[str, Any] = {} if method == "ticket" else {"removal": {"select": method}}
        yield arms.run(
            f"{begin}{method}-{kept}",
            "train_ticket",
            method,
            normaliser,
            parents=[dense, last],
            variant=variant,
            **common,
            lottery=rewound,
            **chosen,
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


REWOUND = ("rewind_update", "moments", "schedule", "data_order")
"""Keys of the section `lottery` that decide how a ticket is trained."""
