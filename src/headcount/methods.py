"""The settings of the methods: every key with its meaning, unit and source; frozen, free of torch."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, PositiveFloat, PositiveInt

from headcount.registry import names
from headcount.settings import Integers, Numbers, RunName, Section, one_of

NORMALISERS = names("model.normalise")
SCORERS = names("pruning.scorers")

Normaliser = Annotated[str, one_of(NORMALISERS, "normaliser")]
Scorer = Annotated[str, one_of(SCORERS, "scorer")]
Scope = Literal["encoder", "all"]
Control = Literal["reinit", "reinit_longer", "same_counts"]
Way = Literal["one_shot", "iterative", "rate_rewound"]
Estimator = Literal["gumbel", "straight_through"]

L0_LISTS = {
    f"{name}_{scope}" for name in ("penalties", "target_heads", "scratch", "random") for scope in ("encoder", "all")
}
"""Keys of the section `l0` that say which runs there are, not how one is trained."""


class L0(Section):
    """Hard-Concrete gates on the heads of a trained model (voita2019 section 6)."""

    scopes: tuple[Scope, ...] = Field(
        ("encoder", "all"),
        description="encoder: decoder frozen, as in the paper's 6.2; all: every attention, 6.3",
    )
    penalties_encoder: Numbers = Field(
        (0.0, 0.003, 0.006, 0.01, 0.03, 0.1),
        description="lambda of the encoder scope; 0 is the control and always trained",
    )
    penalties_all: Numbers = Field((0.0, 0.01, 0.03, 0.1), description="lambda of the scope all; 0 is the control")
    target_heads_encoder: Integers = Field(
        (), description="further runs that find the lambda which leaves so many encoder heads"
    )
    target_heads_all: Integers = Field((), description="the same for all attention types together")
    target_penalty: PositiveFloat = Field(0.01, description="lambda at which such a search starts")
    normalisers: tuple[Normaliser, ...] = Field(
        ("softmax",), description="models whose heads are gated; others than softmax are in entmax.normalisers"
    )
    scratch_encoder: Numbers = Field(
        (), description="lambda whose heads are also trained from scratch, a control with the full budget"
    )
    scratch_all: Numbers = Field((), description="the same for the scope all (voita2019 table 2)")
    random_encoder: Numbers = Field(
        (), description="lambda beside which as many random heads are removed and the rest fine-tuned alike"
    )
    random_all: Numbers = Field((), description="the same for the scope all, as many heads of each attention type")
    variants: dict[RunName, dict[str, Any]] = Field(
        {},
        description="the same heads with other settings, to tune this method as carefully as others: name: {keys of "
        "this section that differ}; of the lists only target_heads are inherited",
    )
    updates: PositiveInt = Field(400, description="fine-tuning updates (not stated in the paper)")
    learning_rate: PositiveFloat = Field(4e-4, description="of the weights, constant (not stated in the paper)")
    gate_learning_rate: PositiveFloat = Field(
        0.03, description="of log alpha (the authors' code uses the weights' rate)"
    )
    initial_log_alpha: float = Field(
        2.5, description="gates start open; 0 is the centre of the authors' initialisation"
    )
    initial_spread: float = Field(
        0.0, ge=0.0, description="half the width of uniform noise around it; the authors' code has 0.612 (8 heads)"
    )
    settled_updates: int = Field(
        0, ge=0, description="stop when P(0) or P(1) of every gate was above 0.95 for so many updates; 0 never"
    )
    gates_at_test: Literal["binary", "soft"] = Field(
        "binary", description="binary: open where log alpha > 0 (footnote 7); soft: factors, as in the authors' code"
    )
    temperature: PositiveFloat = Field(0.33, description="tau of the Hard Concrete distribution")
    stretch_low: float = Field(-0.1, lt=0.0, description="gamma")
    stretch_high: float = Field(1.1, gt=1.0, description="zeta")

    def variant(self, name: str) -> Self:
        """Return the section with the keys that a variant changes, validated."""
        lists = {key: () for key in L0_LISTS if not key.startswith("target_heads")}
        return self.model_validate({**self.model_dump(exclude={"variants"}), **lists, **self.variants[name]})


class Lottery(Section):
    """Iterative head pruning early in training with rewinding (behnke2020, late rewinding)."""

    scope: Scope = Field("all", description="heads that can go: of every attention, or of the encoder only")
    rewind_update: int = Field(
        260,
        ge=0,
        description="x: survivors return to the baseline's checkpoint at this update; 0 is its initialisation",
    )
    round_updates: int = Field(
        120, ge=0, description="y: updates between the rewind and the ranking; 0 for a score that needs none"
    )
    heads_per_round: PositiveInt = Field(9, description="n: heads removed each round, of all attention types together")
    ranking: Literal["global", "per_type", "per_layer"] = Field(
        "global", description="rank all heads together, or remove the same share of each attention type or layer"
    )
    least_per_layer: int = Field(0, ge=0, description="heads that each attention keeps whatever their score")
    scorer: Scorer = Field("confidence", description="head score, a file of src/headcount/pruning/scorers/")
    moments: Literal["rewound", "fresh"] = Field(
        "rewound",
        description="Adam's moments after a rewind: the checkpoint's without those of pruned heads, or zero",
    )
    schedule: Literal["rewound", "restarted"] = Field(
        "rewound", description="learning rate after a rewind: goes on from update x, or warms up again from 0"
    )
    data_order: Literal["same", "new"] = Field(
        "same", description="batches after a rewind: those that the baseline saw, or another order in each round"
    )
    tickets: Integers = Field(
        (36, 18), description="heads of the scope kept by the tickets that are trained to the full budget"
    )
    controls: dict[Control, Literal["all"] | Integers] = Field(
        {"reinit": "all"},
        description="controls and the tickets beside which each is trained, all or a list: the ticket's structure from "
        "a new initialisation (reinit), the same with the rounds' updates on top (reinit_longer), as many random heads "
        "in each layer, rewound (same_counts)",
    )
    longer_learning_rates: Numbers = Field((), description="peak learning rates that reinit_longer tries")
    variants: dict[RunName, dict[str, Any]] = Field(
        {},
        description="further lotteries: name: {keys of this section that differ}; of the controls those that it names",
    )
    normalisers: tuple[Normaliser, ...] = Field(
        ("softmax",), description="models that draw tickets; others than softmax are in entmax.normalisers"
    )

    def has(self, control: Control, ticket: int) -> bool:
        """Say whether a control is trained beside the ticket of so many heads."""
        beside = self.controls.get(control, ())
        return beside == "all" or ticket in beside

    def variant(self, name: str) -> Self:
        """Return the section with the keys that a variant changes, validated."""
        bare = {"variants": {}, "controls": {}, "normalisers": ("softmax",)}
        return self.model_validate({**self.model_dump(), **bare, **self.variants[name]})


Varied = TypeVar("Varied", L0, Lottery)


def with_variants(section: Varied) -> dict[str, Varied]:
    """Return a section under the empty name and each of its variants, validated, under its own."""
    return {"": section, **{name: section.variant(name) for name in section.variants}}


class Ranked(Section):
    """Heads of a trained model removed by a score, the rest trained on (Michel et al. 2019; behnke2020's rival)."""

    scorers: tuple[Scorer, ...] = Field(("confidence", "michel"), description="head scores, each a series of runs")
    ways: tuple[Way, ...] = Field(
        ("one_shot", "iterative", "rate_rewound"),
        description="one_shot: all at once, then fine-tuning; iterative: in steps during fine-tuning; rate_rewound: "
        "all at once, then the training from lottery.rewind_update on once more",
    )
    heads: Integers = Field((36, 18), description="heads kept, of all attention types together")
    updates: PositiveInt = Field(400, description="fine-tuning updates")
    learning_rate: PositiveFloat = Field(4e-4, description="of the fine-tuning, constant")
    steps: PositiveInt = Field(6, description="steps of the way iterative")


class Subset(Section):
    """Differentiable subset pruning: exactly K heads, chosen by gradient descent (Li et al. 2021)."""

    estimators: tuple[Estimator, ...] = Field(
        ("gumbel", "straight_through"),
        description="relaxed top-K of noisy weights, or hard top-K, straight through",
    )
    heads: Integers = Field((36, 18), description="K: heads kept, of all attention types together")
    updates: PositiveInt = Field(400, description="updates of the trained model")
    learning_rate: PositiveFloat = Field(4e-4, description="of the model's weights, constant")
    gate_learning_rate: PositiveFloat = Field(0.5, description="of the heads' importances w (the authors' code: 0.2)")
    temperature_start: PositiveFloat = Field(
        1.0, description="of the relaxed top-K at the first update (the authors' code: 0.1)"
    )
    temperature_end: PositiveFloat = Field(
        1e-3, description="at the last, exponential in between (the authors' code: 1e-8, of longer trainings)"
    )


class ByType(Section):
    """The normaliser of each attention type."""

    encoder: Normaliser = Field("softmax", description="encoder self-attention")
    decoder_self: Normaliser = Field("softmax", description="decoder self-attention")
    decoder_cross: Normaliser = Field("softmax", description="decoder attention to the source")


class Alpha(Section):
    """Alpha of the entmax family: 1 is softmax, 2 is sparsemax."""

    mean: float = Field(0.0, description="of a at the start; alpha = 1 + sigmoid(a)")
    sd: float = Field(1.0, ge=0.0, description="of a at the start, one draw for each alpha")
    lowest: float = Field(
        1.0, ge=1.0, lt=2.0, description="a learned alpha is clamped here; the authors' code has 1.01"
    )
    fixed: float = Field(
        1.25, ge=1.0, le=4.0, description="of the normaliser entmax_fixed; above 2 by the entmax package, slower"
    )


class Entmax(Section):
    """Sparse attention trained from scratch (correia2019)."""

    normalisers: tuple[Normaliser, ...] = Field(
        ("entmax15", "entmax_alpha"),
        description="files of src/headcount/model/normalise/; softmax is the baseline",
    )
    mixed: dict[RunName, ByType] = Field(
        {}, description="further models, name: {encoder: a, decoder_self: b, decoder_cross: c} with their normalisers"
    )
    alpha: Alpha = Alpha()
