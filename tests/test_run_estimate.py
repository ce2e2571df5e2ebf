"""What a run costs before it has run: parameters and bytes by formula, against the real model and the real state."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.config import Study, parse
from headcount.estimate import bytes_on_disk, model_of, origin, parameters
from headcount.heads import ATTENTION_TYPES, count
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.plan import Run, runs
from headcount.pruning.l0 import freeze
from headcount.train.averaging import Average
from headcount.train.optim import Group, NamedAdam, trainable
from headcount.train.progress import Progress

BASE: dict[str, Any] = {
    "vocabulary": 40,
    "layers_encoder": 2,
    "layers_decoder": 3,
    "width": 16,
    "heads": 4,
    "feed_forward": 24,
    "norm": "pre",
    "tie_embeddings": True,
    "dropout": 0.1,
    "attention_dropout": 0.0,
}
KEPT = {
    "encoder": [[0, 3], []],
    "decoder_self": [[1], [0, 1, 2, 3], [2]],
    "decoder_cross": [[], [0, 1, 2], [3]],
}


def everywhere(normaliser: str) -> dict[str, str]:
    return dict.fromkeys(ATTENTION_TYPES, normaliser)


@pytest.mark.parametrize("kept", [{}, KEPT], ids=["all heads", "some heads"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_embeddings": False},
        {"norm": "post"},
        {"layers_encoder": 2, "heads": 8, "feed_forward": 64},
        {"normalisers": everywhere("entmax15")},
        {"normalisers": everywhere("entmax_alpha")},
        {"normalisers": everywhere("entmax_alpha_layer")},
        {"normalisers": everywhere("entmax_alpha_model")},
        {"normalisers": {**everywhere("softmax"), "decoder_cross": "entmax_alpha"}},
    ],
    ids=str,
)
def test_the_formula_counts_the_parameters_of_the_real_model(changes: dict, kept: dict):
    config = ModelConfig(**{**BASE, **changes}, kept=kept)
    model = Transformer(config)
    real = sum(parameter.numel() for parameter in model.parameters())
    parts = parameters(config.to_dict(), count(config.kept))
    assert sum(parts.values()) == real
    assert parts["encoder"] == sum(p.numel() for p in model.encoder.parameters())
    if not kept:
        assert parameters(config.to_dict()) == parts


def study(**changes: Any) -> Study:
    small = {key: value for key, value in BASE.items() if key != "vocabulary"}
    return parse({"subword": {"vocabulary": 40}, "model": small, "training": {"updates": 1000}, **changes})


LOTTERY = {
    "methods": ["lottery"],
    "lottery": {"rewind_update": 150, "round_updates": 60, "heads_per_round": 4, "tickets": [16]},
}


def state_bytes(model: Transformer, *, averaged: bool) -> int:
    """Return the bytes of all tensors in the state of a training of the model."""
    average = Average(updates=1, points=2 if averaged else 1, every_updates=1)
    average.add(model, 1)
    optimiser = NamedAdam([Group(trainable(model), lambda _: 1.0)], beta1=0.9, beta2=0.98)
    state = Progress(model, optimiser, average).state()
    summed = state["average"]["sum"] if state["average"] else {}
    tensors = [state["model"], *state["moments"].values(), summed]
    return sum(tensor.nbytes for part in tensors for tensor in part.values())


def weights_bytes(model: Transformer) -> int:
    return sum(tensor.nbytes for tensor in model.state_dict().values())


def real(run: Run, plan: dict[str, Run], kept: dict | None = None) -> Transformer:
    return Transformer(ModelConfig(**model_of(run, plan, 40), kept=kept or {}))


def test_a_dense_run_holds_two_states_its_rewind_points_twice_and_its_weights():
    plan = runs(study(**LOTTERY))
    run = plan["baseline-s1"]
    model = real(run, plan)
    assert run.settings["keep_updates"] == [150]
    expected = 2 * state_bytes(model, averaged=True) + 2 * state_bytes(model, averaged=False) + weights_bytes(model)
    assert bytes_on_disk(run, model_of(run, plan, 40), 200) == expected


def test_a_round_keeps_no_weights_and_as_many_checkpoints_as_it_passes():
    plan = runs(study(**LOTTERY))
    run = plan["round-02-s1"]
    kept = {"encoder": [[], [0, 1, 2, 3]]}  # round 1 took four heads
    one = state_bytes(real(run, plan, kept), averaged=False)
    shape = model_of(run, plan, 40)
    assert bytes_on_disk(run, shape, 200) == 2 * one  # updates 200 and 210
    assert bytes_on_disk(run, shape, 1000) == one  # update 210, the last
    assert bytes_on_disk(run, shape, 150) == one  # update 150 was the dense model's
    assert bytes_on_disk(run, shape, 20) == 2 * one  # the two newest of four


@pytest.mark.parametrize("tied", [True, False])
def test_what_a_fine_tuning_freezes_has_no_moments(tied: bool):
    small = {key: value for key, value in BASE.items() if key != "vocabulary"}
    plan = runs(study(methods=["l0"], model={**small, "tie_embeddings": tied}))
    for name, scope in (("l0-encoder-0-s1", "encoder"), ("l0-all-0-s1", "all")):
        model = real(plan[name], plan)
        freeze(model, scope)
        expected = 2 * state_bytes(model, averaged=False) + weights_bytes(model)
        assert bytes_on_disk(plan[name], model_of(plan[name], plan, 40), 200) == expected


def test_a_run_without_a_model_of_its_own_has_that_of_its_dense_ancestor():
    plan = runs(study(methods=["entmax", "lottery"], entmax={"normalisers": ["entmax15"]},
                      lottery={**LOTTERY["lottery"], "normalisers": ["softmax", "entmax15"]}))  # fmt: skip
    assert origin(plan["entmax15-ticket-16-s1"], plan).run == "entmax15-s1"
    assert model_of(plan["entmax15-round-02-s1"], plan, 40)["normalisers"]["encoder"] == "entmax15"
    assert model_of(plan["ticket-16-s1"], plan, 40)["normalisers"]["encoder"] == "softmax"
    with pytest.raises(KeyError, match="baseline-s1"):
        origin(plan["ticket-16-s1"], {})
