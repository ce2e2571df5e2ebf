"""Settings → the table of runs of a study: id, stage, parents, complete settings; free of torch.

A run is one folder, `results/<study>/runs/<run>/`. Its settings hold everything that decides its result and nothing
else, so that a changed value repeats exactly the runs that it concerns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headcount.config import Study, studies
from headcount.heads import ATTENTION_TYPES, full, total
from headcount.vocabulary import TOKENIZER

BASELINE = "softmax"
"""Normaliser of the baseline in every attention."""

HAS_ALPHA = "entmax_"
"""How the names of the normalisers begin that read `entmax.alpha`."""


@dataclass(frozen=True)
class Run:
    """One trained model or one lottery round."""

    run: str
    corpus: str
    stage: str
    method: str
    seed: int
    scope: str
    setting: str
    normaliser: str
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

    @property
    def has_all_heads(self) -> bool:
        """Whether the run's model was trained from scratch with every head."""
        return self.stage in ("train_baseline", "train_entmax")


def runs(study: Study) -> dict[str, Run]:
    """List every run of the study by id; a parent stands before its children, the main corpus before the others."""
    listed: list[Run] = []
    for corpus, settings in studies(study).items():
        prefix = "" if corpus == study.corpus else f"{corpus}-"
        for seed in settings.seeds:
            listed += _Planner(settings, corpus, prefix, seed).runs()
    return {run.run: run for run in listed}


def data_settings(study: Study) -> str:
    """Return the settings of data preparation as canonical JSON: the chosen source's block only."""
    data = study.data.model_dump(mode="json")
    kept = {key: value for key, value in data.items() if key == study.data.source or not isinstance(value, dict)}
    settings = {"data": kept, "subword": study.subword.model_dump(mode="json")}
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


L0_LISTS = {
    f"{name}_{scope}" for name in ("penalties", "target_heads", "scratch", "random") for scope in ("encoder", "all")
}
"""Keys of the section `l0` that say which runs there are, not how one is trained."""


@dataclass(frozen=True)
class _Planner:
    """The runs of one corpus and seed."""

    study: Study
    corpus: str
    prefix: str
    seed: int

    def runs(self) -> Iterator[Run]:
        """Yield parents before their children."""
        study = self.study
        yield self._dense("baseline", "train_baseline", BASELINE)
        if "entmax" in study.methods:
            for normaliser in (*study.entmax.normalisers, *study.entmax.mixed):
                if normaliser != BASELINE:
                    yield self._dense(normaliser, "train_entmax", normaliser)
        if "l0" in study.methods:
            for normaliser in study.l0.normalisers:
                for scope in study.l0.scopes:
                    yield from self._l0(normaliser, scope)
        if study.roles.removal:
            for select in ("unnamed", "named"):
                yield self._removed(f"{select}-encoder", select, BASELINE, "encoder", [self._id("baseline")])
        if "lottery" in study.methods:
            for normaliser in study.lottery.normalisers:
                yield from self._lottery(normaliser)

    def _id(self, name: str) -> str:
        return f"{self.prefix}{name}-s{self.seed}"

    def _run(
        self,
        name: str,
        stage: str,
        method: str,
        normaliser: str,
        *,
        parents: Sequence[str] = (),
        scope: str = "",
        setting: str = "",
        **settings: Any,
    ) -> Run:
        identity = {
            "run": self._id(name),
            "corpus": self.corpus,
            "stage": stage,
            "method": method,
            "seed": self.seed,
            "scope": scope,
            "setting": setting,
            "normaliser": normaliser,
            "parents": list(parents),
            "training": self.study.training.model_dump(mode="json"),
            **settings,
        }
        if self.study.evaluation.bleu_tokenizer != TOKENIZER:  # of the validation BLEU in the journal
            identity["bleu_tokenizer"] = self.study.evaluation.bleu_tokenizer
        place = (self._id(name), self.corpus, stage, method, self.seed, scope, setting, normaliser, tuple(parents))
        return Run(*place, settings=identity)

    def _model(self, normaliser: str) -> dict[str, Any]:
        mixed = self.study.entmax.mixed.get(normaliser)
        normalisers = mixed.model_dump() if mixed else dict.fromkeys(ATTENTION_TYPES, normaliser)
        model = {**self.study.model.model_dump(mode="json"), "normalisers": normalisers}
        if any(name.startswith(HAS_ALPHA) for name in normalisers.values()):
            model["alpha"] = self.study.entmax.alpha.model_dump(mode="json")
        return model

    def _dense(self, name: str, stage: str, normaliser: str) -> Run:
        lottery = self.study.lottery
        drawn = "lottery" in self.study.methods and normaliser in lottery.normalisers
        return self._run(
            name,
            stage,
            name,
            normaliser,
            setting="" if name == "baseline" else name,
            model=self._model(normaliser),
            keep_update=lottery.rewind_update if drawn else 0,
        )

    def _of(self, normaliser: str) -> tuple[str, str]:
        """Return the id of the dense model of a normaliser, and how the names of its children begin."""
        return (self._id("baseline"), "") if normaliser == BASELINE else (self._id(normaliser), f"{normaliser}-")

    def _l0(self, normaliser: str, scope: str) -> Iterator[Run]:
        dense, begin = self._of(normaliser)
        l0 = self.study.l0
        shared = l0.model_dump(mode="json", exclude={"scopes", "normalisers", "target_penalty", *L0_LISTS})
        for penalty in sorted({0.0, *getattr(l0, f"penalties_{scope}")}):  # the control is always trained
            setting = f"λ={penalty:g}"
            gated = self._run(
                f"{begin}l0-{scope}-{penalty:g}",
                "finetune_l0",
                "l0",
                normaliser,
                parents=[dense],
                scope=scope,
                setting=setting,
                l0={**shared, "scope": scope, "penalty": penalty, "target_heads": 0},
            )
            yield gated
            twin = f"{begin}{{}}-{scope}-{penalty:g}"
            if penalty in getattr(l0, f"scratch_{scope}"):
                yield self._run(
                    twin.format("scratch"),
                    "train_scratch",
                    "scratch",
                    normaliser,
                    parents=[gated.run],
                    scope=scope,
                    setting=setting,
                    model=self._model(normaliser),
                )
            if penalty in getattr(l0, f"random_{scope}"):
                parents = [dense, gated.run]
                yield self._removed(twin.format("random"), "random", normaliser, scope, parents, setting)
        for heads in sorted(getattr(l0, f"target_heads_{scope}"), reverse=True):
            yield self._run(
                f"{begin}l0-{scope}-{heads}h",
                "finetune_l0",
                "l0",
                normaliser,
                parents=[dense],
                scope=scope,
                setting=f"target {heads} heads",
                l0={**shared, "scope": scope, "penalty": l0.target_penalty, "target_heads": heads},
            )

    def _removed(
        self, name: str, select: str, normaliser: str, scope: str, parents: list[str], setting: str = ""
    ) -> Run:
        l0 = self.study.l0
        return self._run(
            name,
            "finetune_removed",
            select,
            normaliser,
            parents=parents,
            scope=scope,
            setting=setting,
            removal={"select": select, "scope": scope},
            l0={"scope": scope, "updates": l0.updates, "learning_rate": l0.learning_rate},
        )

    def _lottery(self, normaliser: str) -> Iterator[Run]:
        dense, begin = self._of(normaliser)
        model, lottery = self.study.model, self.study.lottery
        everything = total(full(model.layers_encoder, model.layers_decoder, model.heads))
        shared = lottery.model_dump(mode="json", exclude={"tickets", "reinitialised", "normalisers"})
        rounds = {kept: (everything - kept) // lottery.heads_per_round for kept in lottery.tickets}
        before: list[str] = []
        for number in range(1, max(rounds.values(), default=0) + 1):
            drawn = self._run(
                f"{begin}round-{number:02d}",
                "lottery_round",
                "round",
                normaliser,
                parents=[dense, *before],
                scope="all",
                setting=f"round {number}",
                lottery={**shared, "round": number},
            )
            yield drawn
            before = [drawn.run]
        for kept, number in sorted(rounds.items(), reverse=True):
            last = self._id(f"{begin}round-{number:02d}")
            shape = {"scope": "all", "setting": f"{kept} of {everything} heads"}
            rewind = {"rewind_update": lottery.rewind_update}
            yield self._run(
                f"{begin}ticket-{kept}",
                "train_ticket",
                "ticket",
                normaliser,
                parents=[dense, last],
                **shape,
                lottery=rewind,
            )
            if lottery.reinitialised:
                yield self._run(
                    f"{begin}reinit-{kept}",
                    "train_reinit",
                    "reinit",
                    normaliser,
                    parents=[last],
                    **shape,
                    model=self._model(normaliser),
                )
