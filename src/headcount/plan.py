"""Settings → the table of runs of a study: id, stage, parents, complete settings; free of torch.

A run is one folder, `results/<study>/runs/<run>/`. Its settings hold everything that decides its result and nothing
else, so that a changed value repeats exactly the runs that it concerns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headcount.config import Study
from headcount.heads import ATTENTION_TYPES, full, total

BASELINE = "softmax"
"""Normaliser of the baseline in every attention."""


@dataclass(frozen=True)
class Run:
    """One trained model or one lottery round."""

    run: str
    stage: str
    method: str
    seed: int
    scope: str
    setting: str
    parents: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def canonical(self) -> str:
        """The complete settings as one canonical JSON line: equal settings, equal text."""
        return json.dumps(self.settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @property
    def trains_a_model(self) -> bool:
        """Whether the run ends in a model that is translated and scored."""
        return self.stage != "lottery_round"


def runs(study: Study) -> dict[str, Run]:
    """List every run of the study by id; a parent stands before its children."""
    listed: list[Run] = []
    for seed in study.seeds:
        listed.append(_baseline(study, seed))
        if "entmax" in study.methods:
            listed += [_entmax(study, seed, name) for name in study.entmax.normalisers if name != BASELINE]
        if "l0" in study.methods:
            listed += _l0(study, seed)
        if "lottery" in study.methods:
            listed += _lottery(study, seed)
    return {run.run: run for run in listed}


def baseline_of(seed: int) -> str:
    """Return the id of the seed's baseline."""
    return f"baseline-s{seed}"


def data_settings(study: Study) -> str:
    """Return the settings of data preparation as canonical JSON: the chosen source's block only."""
    data = study.data.model_dump(mode="json")
    kept = {key: value for key, value in data.items() if key == study.data.source or not isinstance(value, dict)}
    settings = {"data": kept, "subword": study.subword.model_dump(mode="json")}
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def cpu_seconds(run: Run, vocabulary: int, model: dict[str, Any]) -> float:
    """Estimate the run's CPU-seconds on one thread: training FLOPs per target token at `GFLOPS_PER_THREAD`.

    Counts matrix products only, equal source and target lengths of `TYPICAL_LENGTH`, three passes for forward and
    backward. Good to a factor of two; the seconds of a finished run are the better figure.
    """
    width, feed_forward = model["width"], model["feed_forward"]
    attention, feed = 8 * width * width + 4 * width * TYPICAL_LENGTH, 4 * width * feed_forward
    encoder = model["layers_encoder"] * (attention + feed)
    decoder = model["layers_decoder"] * (2 * attention + feed)
    flops = 3 * (encoder + decoder + 2 * width * vocabulary)
    training = run.settings["training"]
    useful: float = 0.85 * training["tokens_per_batch"] * training["accumulate_batches"]
    return updates(run) * useful * float(flops) / (GFLOPS_PER_THREAD * 1e9)


GFLOPS_PER_THREAD = 38.0
"""What small models reach on one server core in float32; an assumption of `cpu_seconds`."""

TYPICAL_LENGTH = 14
"""Pieces a sentence that `cpu_seconds` assumes."""


def updates(run: Run) -> int:
    """Return the optimiser updates that the run makes."""
    if run.stage == "finetune_l0":
        return int(run.settings["l0"]["updates"])
    if run.stage == "lottery_round":
        return int(run.settings["lottery"]["round_updates"])
    first = run.settings["lottery"]["rewind_update"] if run.stage == "train_ticket" else 0
    return int(run.settings["training"]["updates"]) - first


def _run(
    study: Study,
    run: str,
    stage: str,
    method: str,
    seed: int,
    *,
    parents: Sequence[str] = (),
    scope: str = "",
    setting: str = "",
    **settings: Any,
) -> Run:
    identity = {
        "run": run,
        "stage": stage,
        "method": method,
        "seed": seed,
        "scope": scope,
        "setting": setting,
        "parents": list(parents),
        "training": study.training.model_dump(mode="json"),
        **settings,
    }
    return Run(run, stage, method, seed, scope, setting, tuple(parents), identity)


def _model(study: Study, normaliser: str) -> dict[str, Any]:
    return {**study.model.model_dump(mode="json"), "normalisers": dict.fromkeys(ATTENTION_TYPES, normaliser)}


def _baseline(study: Study, seed: int) -> Run:
    rewind = study.lottery.rewind_update if "lottery" in study.methods else 0
    return _run(
        study,
        baseline_of(seed),
        "train_baseline",
        "baseline",
        seed,
        model=_model(study, BASELINE),
        keep_update=rewind,
    )


def _entmax(study: Study, seed: int, normaliser: str) -> Run:
    return _run(
        study,
        f"{normaliser}-s{seed}",
        "train_entmax",
        normaliser,
        seed,
        setting=normaliser,
        model=_model(study, normaliser),
    )


def _l0(study: Study, seed: int) -> Iterable[Run]:
    shared = study.l0.model_dump(mode="json", exclude={"scopes", "penalties_encoder", "penalties_all"})
    for scope in study.l0.scopes:
        listed = study.l0.penalties_encoder if scope == "encoder" else study.l0.penalties_all
        for penalty in sorted({0.0, *listed}):  # the control without a penalty is always trained
            yield _run(
                study,
                f"l0-{scope}-{penalty:g}-s{seed}",
                "finetune_l0",
                "l0",
                seed,
                parents=[baseline_of(seed)],
                scope=scope,
                setting=f"λ={penalty:g}",
                l0={**shared, "scope": scope, "penalty": penalty},
            )


def _lottery(study: Study, seed: int) -> Iterable[Run]:
    model = study.model
    everything = total(full(model.layers_encoder, model.layers_decoder, model.heads))
    shared = study.lottery.model_dump(mode="json", exclude={"tickets", "reinitialised"})
    rounds = {kept: (everything - kept) // study.lottery.heads_per_round for kept in study.lottery.tickets}
    before: tuple[str, ...] = ()
    for number in range(1, max(rounds.values(), default=0) + 1):
        name = round_of(number, seed)
        yield _run(
            study,
            name,
            "lottery_round",
            "round",
            seed,
            parents=[baseline_of(seed), *before],
            scope="all",
            setting=f"round {number}",
            lottery={**shared, "round": number},
        )
        before = (name,)
    for kept, number in sorted(rounds.items(), reverse=True):
        setting = f"{kept} of {everything} heads"
        rewind = {"rewind_update": study.lottery.rewind_update}
        yield _run(
            study,
            f"ticket-{kept}-s{seed}",
            "train_ticket",
            "ticket",
            seed,
            parents=[baseline_of(seed), round_of(number, seed)],
            scope="all",
            setting=setting,
            lottery=rewind,
        )
        if study.lottery.reinitialised:
            yield _run(
                study,
                f"reinit-{kept}-s{seed}",
                "train_reinit",
                "reinit",
                seed,
                parents=[round_of(number, seed)],
                scope="all",
                setting=setting,
                model=_model(study, BASELINE),
            )


def round_of(number: int, seed: int) -> str:
    """Return the id of a lottery round, counted from 1."""
    return f"round-{number:02d}-s{seed}"
