"""The runs of one corpus and seed, method by method, but those of the lottery; free of torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headcount.config import Study
from headcount.heads import ATTENTION_TYPES
from headcount.methods import L0, L0_LISTS, with_variants
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
    def scorer(self) -> str | None:
        """The head score by which the run chooses its heads, if it does."""
        scored = self.settings.get("lottery") or self.settings.get("ranked") or {}
        return scored.get("scorer")

    @property
    def trains_a_model(self) -> bool:
        """Whether the run ends in a model that is translated and scored."""
        return self.stage != "lottery_round"

    @property
    def has_all_heads(self) -> bool:
        """Whether the run's model was trained from scratch with every head."""
        return self.stage in ("train_baseline", "train_entmax")


@dataclass(frozen=True)
class Arms:
    """The runs of one corpus and seed."""

    study: Study
    corpus: str
    prefix: str
    seed: int

    def id(self, name: str) -> str:
        """Return the id of the run that this corpus and seed have under a name."""
        return f"{self.prefix}{name}-s{self.seed}"

    def run(
        self,
        name: str,
        stage: str,
        method: str,
        normaliser: str,
        *,
        parents: Sequence[str] = (),
        scope: str = "",
        setting: str = "",
        variant: str = "",
        **settings: Any,
    ) -> Run:
        """Return a run with everything that decides its result; a main variant is not named in its settings."""
        identity = {
            "run": self.id(name),
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
        if variant:
            identity["variant"] = variant
        if self.study.evaluation.bleu_tokenizer != TOKENIZER:  # of the validation BLEU in the journal
            identity["bleu_tokenizer"] = self.study.evaluation.bleu_tokenizer
        place = (self.id(name), self.corpus, stage, method, self.seed, scope, setting, normaliser, tuple(parents))
        return Run(*place, settings=identity)

    def model(self, normaliser: str) -> dict[str, Any]:
        """Return the settings of the model with a normaliser, or with one for each attention type."""
        mixed = self.study.entmax.mixed.get(normaliser)
        normalisers = mixed.model_dump() if mixed else dict.fromkeys(ATTENTION_TYPES, normaliser)
        model = {**self.study.model.model_dump(mode="json"), "normalisers": normalisers}
        if any(name.startswith(HAS_ALPHA) for name in normalisers.values()):
            model["alpha"] = self.study.entmax.alpha.model_dump(mode="json")
        return model

    def baseline(self) -> Run:
        """Return the dense model with softmax, the parent of most others."""
        return self._dense("baseline", "train_baseline", BASELINE)

    def sparse(self) -> Iterator[Run]:
        """Yield the models with other normalisers."""
        for normaliser in (*self.study.entmax.normalisers, *self.study.entmax.mixed):
            if normaliser != BASELINE:
                yield self._dense(normaliser, "train_entmax", normaliser)

    def smaller(self) -> Iterator[Run]:
        """Yield the dense models of less compute."""
        for name, override in self.study.smaller.items():
            model = {**self.model(BASELINE), **override}
            yield self.run(name, "train_smaller", "smaller", BASELINE, setting=name, variant=name, model=model)

    def _dense(self, name: str, stage: str, normaliser: str) -> Run:
        setting = "" if name == "baseline" else name
        keep = self._rewound_to(normaliser)
        return self.run(name, stage, name, normaliser, setting=setting, model=self.model(normaliser), keep_updates=keep)

    def _rewound_to(self, normaliser: str) -> list[int]:
        """Return the updates of a dense model to which others rewind."""
        study = self.study
        updates: set[int] = set()
        if "lottery" in study.methods:
            drawn = [lottery for lottery in with_variants(study.lottery).values() if normaliser in lottery.normalisers]
            updates |= {lottery.rewind_update for lottery in drawn}
        if "ranked" in study.methods and "rate_rewound" in study.ranked.ways and normaliser == BASELINE:
            updates.add(study.lottery.rewind_update)
        return sorted(updates - {0})

    def of(self, normaliser: str, variant: str) -> tuple[str, str]:
        """Return the id of the dense model of a normaliser, and how the names of a variant's runs on it begin."""
        begin = "".join(f"{name}-" for name in (normaliser, variant) if name not in ("", BASELINE))
        return self.id("baseline" if normaliser == BASELINE else normaliser), begin

    def gated(self) -> Iterator[Run]:
        """Yield the models with L0 gates, each with the controls that hang on it, then those of the variants."""
        for variant, settings in with_variants(self.study.l0).items():
            for normaliser in settings.normalisers:
                for scope in settings.scopes:
                    yield from self._l0(settings, variant, normaliser, scope)

    def _l0(self, l0: L0, variant: str, normaliser: str, scope: str) -> Iterator[Run]:
        dense, begin = self.of(normaliser, variant)
        shared = l0.model_dump(mode="json", exclude={"scopes", "normalisers", "variants", "target_penalty", *L0_LISTS})
        control = set() if variant else {0.0}  # the control without a penalty is always trained
        for penalty in sorted({*control, *getattr(l0, f"penalties_{scope}")}):
            setting = f"λ={penalty:g}"
            gated = self.run(
                f"{begin}l0-{scope}-{penalty:g}",
                "finetune_l0",
                "l0",
                normaliser,
                parents=[dense],
                scope=scope,
                setting=setting,
                variant=variant,
                l0={**shared, "scope": scope, "penalty": penalty, "target_heads": 0},
            )
            yield gated
            twin = f"{begin}{{}}-{scope}-{penalty:g}"
            if penalty in getattr(l0, f"scratch_{scope}"):
                yield self.run(
                    twin.format("scratch"),
                    "train_scratch",
                    "scratch",
                    normaliser,
                    parents=[gated.run],
                    scope=scope,
                    setting=setting,
                    variant=variant,
                    model=self.model(normaliser),
                )
            if penalty in getattr(l0, f"random_{scope}"):
                parents = [dense, gated.run]
                yield self._removed(twin.format("random"), "random", normaliser, scope, parents, l0, setting, variant)
        for heads in sorted(getattr(l0, f"target_heads_{scope}"), reverse=True):
            yield self.run(
                f"{begin}l0-{scope}-{heads}h",
                "finetune_l0",
                "l0",
                normaliser,
                parents=[dense],
                scope=scope,
                setting=f"target {heads} heads",
                variant=variant,
                l0={**shared, "scope": scope, "penalty": l0.target_penalty, "target_heads": heads},
            )

    def by_role(self) -> Iterator[Run]:
        """Yield the models without their unnamed, and without as many named encoder heads."""
        for select in ("unnamed", "named"):
            yield self._removed(f"{select}-encoder", select, BASELINE, "encoder", [self.id("baseline")], self.study.l0)

    def _removed(
        self,
        name: str,
        select: str,
        normaliser: str,
        scope: str,
        parents: list[str],
        l0: L0,
        setting: str = "",
        variant: str = "",
    ) -> Run:
        return self.run(
            name,
            "finetune_removed",
            select,
            normaliser,
            parents=parents,
            scope=scope,
            setting=setting,
            variant=variant,
            removal={"select": select, "scope": scope},
            l0={"scope": scope, "updates": l0.updates, "learning_rate": l0.learning_rate},
        )

    def ranked(self) -> Iterator[Run]:
        """Yield the trained models without the heads of the lowest scores."""
        ranked = self.study.ranked
        tuned: dict[str, Any] = {"updates": ranked.updates, "learning_rate": ranked.learning_rate}
        own = {
            "one_shot": tuned,
            "iterative": {**tuned, "steps": ranked.steps},
            "rate_rewound": {"rewind_update": self.study.lottery.rewind_update},
        }
        for scorer in ranked.scorers:
            for way in ranked.ways:
                for heads in sorted(ranked.heads, reverse=True):
                    yield self._of_trained(
                        f"ranked-{scorer}-{way}", "ranked", heads, f"{scorer}-{way}",
                        ranked={**own[way], "scorer": scorer, "way": way, "heads": heads},
                    )  # fmt: skip

    def subset(self) -> Iterator[Run]:
        """Yield the models whose subset of heads is learned."""
        shared = self.study.subset.model_dump(mode="json", exclude={"estimators", "heads"})
        for estimator in self.study.subset.estimators:
            for heads in sorted(self.study.subset.heads, reverse=True):
                yield self._of_trained(
                    f"subset-{estimator}", "subset", heads, estimator,
                    subset={**shared, "estimator": estimator, "heads": heads},
                )  # fmt: skip

    def _of_trained(self, name: str, method: str, heads: int, variant: str, **settings: Any) -> Run:
        return self.run(
            f"{name}-{heads}",
            f"finetune_{method}",
            method,
            BASELINE,
            parents=[self.id("baseline")],
            scope="all",
            setting=f"{heads} of {self.study.heads['all']} heads",
            variant=variant,
            target_heads=heads,
            **settings,
        )
