"""What of a study's settings does not fit together, one line for each fault; free of torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import ValidationError

from headcount.messages import describe
from headcount.methods import L0, NORMALISERS, Lottery
from headcount.registry import nearest
from headcount.settings import Model
from headcount.vocabulary import APERTIUM, APERTIUM_DIRECTIONS

if TYPE_CHECKING:
    from headcount.config import Study


def faults(study: Study) -> Iterator[str]:
    """Yield the faults of everything but the further corpora: path, value, what is allowed."""
    yield from _general(study)
    yield from _smaller(study)
    yield from _l0(study, study.l0, "l0")
    yield from _normalisers(study)
    if "lottery" in study.methods:
        yield from _lottery(study, study.lottery, "lottery")
    yield from _variants(study)
    for name in ("ranked", "subset"):
        if name in study.methods:
            yield from _kept(getattr(study, name).heads, study.heads["all"], f"{name}.heads")
    if "ranked" in study.methods and "iterative" in study.ranked.ways and study.ranked.steps >= study.ranked.updates:
        yield f"ranked.steps: {study.ranked.steps} must be fewer than ranked.updates {study.ranked.updates}"
    if study.subset.temperature_end > study.subset.temperature_start:
        yield (
            f"subset.temperature_end: {study.subset.temperature_end:g} exceeds "
            f"temperature_start {study.subset.temperature_start:g}"
        )


def _general(study: Study) -> Iterator[str]:
    if len(set(study.seeds)) < len(study.seeds):
        yield f"seeds: {list(study.seeds)} names a seed twice"
    training = study.training
    if training.warmup_updates > training.updates:
        yield f"training.warmup_updates: {training.warmup_updates} exceeds training.updates {training.updates}"
    if study.roles.removal and "roles" not in study.analyses:
        yield "roles.removal: needs the analysis `roles`, which says what the heads are; add it to analyses"
    files = study.data.files
    if study.data.source == "files" and bool(files.tsv) == bool(files.source and files.target):
        yield "data.files: give either tsv, or source and target"
    for name in ("speed_beams", "speed_batches"):
        if any(value < 1 for value in getattr(study.evaluation, name)):
            yield f"evaluation.{name}: {list(getattr(study.evaluation, name))} must be 1 or more each"


def _smaller(study: Study) -> Iterator[str]:
    for name, override in study.smaller.items():
        try:
            Model.model_validate({**study.model.model_dump(), **override})
        except ValidationError as error:
            yield from (f"smaller.{name}.{line}" for line in describe(error, Model).splitlines())
    yield from _taken(study, study.smaller, "smaller")
    if both := set(study.smaller) & set(study.entmax.mixed):
        yield f"smaller: {', '.join(sorted(both))} is in entmax.mixed as well; give the model another name"


def _taken(study: Study, names: Mapping[str, object], path: str) -> Iterator[str]:
    if clash := set(names) & {*NORMALISERS, "baseline", "lookup"}:
        yield f"{path}: {', '.join(sorted(clash))} is taken; give the model another name"


def _l0(study: Study, l0: L0, path: str) -> Iterator[str]:
    for scope in l0.scopes:
        heads = study.heads[scope]
        listed = {name: getattr(l0, f"{name}_{scope}") for name in ("penalties", "target_heads")}
        for name, values in listed.items():
            if any(value < 0 for value in values):
                yield f"{path}.{name}_{scope}: {list(values)} must not be negative"
            if len(set(values)) < len(values):
                yield f"{path}.{name}_{scope}: {list(values)} names a value twice"
        if any(not 1 <= value <= heads for value in listed["target_heads"]):
            yield f"{path}.target_heads_{scope}: {list(listed['target_heads'])} must be from 1 to {heads} heads"
        for name in ("scratch", "random"):
            twins = getattr(l0, f"{name}_{scope}")
            if strange := [value for value in twins if value not in {0.0, *listed["penalties"]}]:
                yield f"{path}.{name}_{scope}: {strange} is no value of {path}.penalties_{scope}"


def _normalisers(study: Study) -> Iterator[str]:
    yield from _taken(study, study.entmax.mixed, "entmax.mixed")
    trained = ("softmax", *study.entmax.normalisers, *study.entmax.mixed)
    for section in ("l0", "lottery"):
        for name in getattr(study, section).normalisers:
            if name not in trained:
                yield f"{section}.normalisers: {name!r} is not trained; allowed: {', '.join(trained)}"
            elif name != "softmax" and section in study.methods and "entmax" not in study.methods:
                yield f"{section}.normalisers: {name!r} needs the method entmax; add it to methods"


def _lottery(study: Study, lottery: Lottery, path: str) -> Iterator[str]:
    updates = study.training.updates
    if lottery.rewind_update + lottery.round_updates > updates:
        yield (
            f"{path}.rewind_update: {lottery.rewind_update} plus round_updates {lottery.round_updates} "
            f"exceeds training.updates {updates}"
        )
    everything = study.heads[lottery.scope]
    reached = list(range(everything - lottery.heads_per_round, -1, -lottery.heads_per_round))
    for kept in lottery.tickets:
        if kept not in reached:
            yield (
                f"{path}.tickets: {kept} of {everything} heads is not reached by rounds of "
                f"{lottery.heads_per_round}; allowed: {', '.join(map(str, reached))}"
            )
    yield from _kept(lottery.tickets, everything, f"{path}.tickets")
    model = study.model
    least = lottery.least_per_layer * (model.layers_encoder + 2 * model.layers_decoder * (lottery.scope == "all"))
    if lottery.tickets and min(lottery.tickets) < least:
        yield f"{path}.least_per_layer: {lottery.least_per_layer} leaves {least} heads, more than a ticket may keep"
    for control, beside in lottery.controls.items():
        if beside != "all" and (strange := sorted(set(beside) - set(lottery.tickets))):
            yield f"{path}.controls.{control}: {strange} is no value of {path}.tickets"
    if lottery.controls.get("reinit_longer") and not lottery.longer_learning_rates:
        yield f"{path}.longer_learning_rates: reinit_longer needs at least one, such as training.learning_rate"
    if any(rate <= 0 for rate in lottery.longer_learning_rates):
        yield f"{path}.longer_learning_rates: {list(lottery.longer_learning_rates)} must be positive"


def _kept(values: tuple[int, ...], heads: int, path: str) -> Iterator[str]:
    if any(not 1 <= value < heads for value in values):
        yield f"{path}: {list(values)} must be from 1 to {heads - 1} heads"
    if len(set(values)) < len(values):
        yield f"{path}: {list(values)} names a value twice"


def _variants(study: Study) -> Iterator[str]:
    """Yield what is wrong with the variants of L0 and of the lottery, each as a section of its own."""
    sections: tuple[L0 | Lottery, ...] = (study.l0, study.lottery)
    for section in sections:
        key = type(section).__name__.lower()
        for name, override in section.variants.items():
            path = f"{key}.variants.{name}"
            if name in NORMALISERS or name in study.entmax.mixed:
                yield f"{path}: is the name of a normaliser, with which runs begin; give the variant another name"
            if "variants" in override:
                yield f"{path}.variants: a variant has none of its own"
                continue
            try:
                variant = section.variant(name)
            except ValidationError as error:
                yield from (f"{path}.{line}" for line in describe(error, type(section)).splitlines())
                continue
            if key not in study.methods:
                continue
            if isinstance(variant, L0):
                yield from _l0(study, variant, path)
            else:
                yield from _lottery(study, variant, path)


def teacher_faults(corpora: Mapping[str, Study]) -> Iterator[str]:
    """Yield what is wrong with the teachers of a whole study: the settings of each corpus, the main one first."""
    main = next(iter(corpora))
    for name, study in corpora.items():
        path = "data.teacher" if name == main else f"corpora.{name}.data.teacher"
        teacher = study.data.teacher
        languages = (study.data.source_language, study.data.target_language)
        if teacher == APERTIUM:
            if languages not in APERTIUM_DIRECTIONS:
                allowed = ", ".join(map(" to ".join, APERTIUM_DIRECTIONS))
                yield f"{path}: apertium does not translate {' to '.join(languages)}; allowed: {allowed}"
        elif teacher and teacher not in corpora:
            others = [*(other for other in corpora if other != name), APERTIUM]
            yield f"{path}: no corpus {teacher!r}{nearest(teacher, others)}; allowed: {', '.join(others)}"
        elif teacher == name:
            yield f"{path}: {teacher!r} is this corpus itself"
        elif teacher and corpora[teacher].data.teacher:  # forbids chains and so every cycle
            yield f"{path}: {teacher!r} has a teacher itself; a teacher learns from people"
        elif teacher:
            own, theirs = study.data.model_dump(), corpora[teacher].data.model_dump()
            if differ := [f"data.{key}" for key in own if key != "teacher" and own[key] != theirs[key]]:
                yield f"{path}: {teacher!r} differs in {', '.join(differ)}; teacher and student need the same data"
