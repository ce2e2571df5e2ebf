"""The settings of a study: one frozen model, the only reader of YAML, free of torch.

Every key carries its description; `config.yaml`, the JSON schema and `docs/config.md` are generated from here and from
`headcount.settings` (`headcount.configdoc`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from headcount.errors import UserError
from headcount.messages import describe
from headcount.settings import (
    L0,
    Data,
    Entmax,
    Evaluation,
    Integers,
    Lottery,
    Model,
    Section,
    Subword,
    Tracking,
    Training,
)


class Study(Section):
    """A study: one corpus, one model, the chosen methods, some seeds."""

    study: str = Field(
        "default", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="name, also the folder in results/"
    )
    seeds: Integers = Field((1,), min_length=1, description="every method is repeated for each seed")
    methods: tuple[Literal["l0", "lottery", "entmax"], ...] = Field(
        ("l0", "lottery", "entmax"), description="what is run beside the baseline"
    )
    data: Data = Data()
    subword: Subword = Subword()
    model: Model = Model()
    training: Training = Training()
    l0: L0 = L0()
    lottery: Lottery = Lottery()
    entmax: Entmax = Entmax()
    evaluation: Evaluation = Evaluation()
    tracking: Tracking = Tracking()

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        faults = [*self._seed_faults(), *self._penalty_faults(), *self._training_faults()]
        if "lottery" in self.methods:
            faults += self._lottery_faults()
        files = self.data.files
        if self.data.source == "files" and bool(files.tsv) == bool(files.source and files.target):
            faults.append("data.files: give either tsv, or source and target")
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _seed_faults(self) -> Iterator[str]:
        if len(set(self.seeds)) < len(self.seeds):
            yield f"seeds: {list(self.seeds)} names a seed twice"

    def _penalty_faults(self) -> Iterator[str]:
        for name in ("penalties_encoder", "penalties_all"):
            values = getattr(self.l0, name)
            if any(value < 0 for value in values):
                yield f"l0.{name}: {list(values)} must not be negative"
            if len(set(values)) < len(values):
                yield f"l0.{name}: {list(values)} names a value twice"

    def _training_faults(self) -> Iterator[str]:
        training = self.training
        if training.warmup_updates > training.updates:
            yield f"training.warmup_updates: {training.warmup_updates} exceeds training.updates {training.updates}"

    def _lottery_faults(self) -> Iterator[str]:
        lottery, updates = self.lottery, self.training.updates
        if lottery.rewind_update + lottery.round_updates > updates:
            yield (
                f"lottery.rewind_update: {lottery.rewind_update} plus round_updates {lottery.round_updates} "
                f"exceeds training.updates {updates}"
            )
        total = (self.model.layers_encoder + 2 * self.model.layers_decoder) * self.model.heads
        reached = list(range(total - lottery.heads_per_round, 0, -lottery.heads_per_round))
        for kept in lottery.tickets:
            if kept not in reached:
                yield (
                    f"lottery.tickets: {kept} of {total} heads is not reached by rounds of "
                    f"{lottery.heads_per_round}; allowed: {', '.join(map(str, reached))}"
                )


def parse(values: Mapping[str, Any]) -> Study:
    """Validate the merged settings of a study.

    Raises:
        UserError: with one line for every fault: path, value, what is allowed, the nearest name.

    """
    try:
        return Study.model_validate(dict(values))
    except ValidationError as error:
        raise UserError(describe(error, Study)) from None


def read(*paths: Path) -> Study:
    """Read a config file and the overrides after it; later files win, mappings are merged.

    Raises:
        UserError: a file is missing, is not YAML or holds a fault.

    """
    merged: dict[str, Any] = {}
    for path in paths:
        try:
            loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{path}: no such config file") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None
        if not isinstance(loaded, dict | None):
            raise UserError(f"{path}: expected a mapping of settings, found {type(loaded).__name__}")
        merged = _merge(merged, loaded or {})
    return parse(merged)


def _merge(base: dict[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in override.items():
        old = result.get(key)
        result[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
