"""The settings of a study: one frozen model, the only reader of YAML, free of torch.

Every key carries its description; `config.yaml`, the JSON schema and `docs/config.md` are generated from here and from
`headcount.settings` and `headcount.methods` (`headcount.configdoc`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from headcount.errors import UserError
from headcount.faults import faults
from headcount.messages import describe
from headcount.methods import L0, Entmax, Lottery, Ranked, Subset
from headcount.settings import (
    Checkpoints,
    Data,
    Evaluation,
    Integers,
    Model,
    Relevance,
    Roles,
    RunName,
    Section,
    Subword,
    Tracking,
    Training,
    parses,
)

NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
"""What studies and corpora may be called: they name folders."""

SHARED = ("study", "corpora", "checkpoints", "tracking")
"""Keys that are the same for every corpus of a study."""


class Study(Section):
    """A study: a corpus and perhaps further ones, a model, the chosen methods and analyses, some seeds."""

    study: str = Field("default", pattern=f"^{NAME}$", description="name, also the folder in results/")
    seeds: Integers = Field((1,), min_length=1, description="every method is repeated for each seed")
    methods: tuple[Literal["l0", "lottery", "entmax", "ranked", "subset", "smaller"], ...] = Field(
        ("l0", "lottery", "entmax"), description="what is run beside the baseline"
    )
    analyses: tuple[Literal["roles", "relevance"], ...] = Field(
        ("roles", "relevance"),
        description="what is asked of the heads of every model that was trained with all of them",
    )
    corpora: dict[str, dict[str, Any]] = Field(
        {}, description="further corpora, each with runs of its own: name: {any keys of this file that differ for it}"
    )
    smaller: dict[RunName, dict[str, Any]] = Field(
        {},
        description="dense models of the method smaller, which say what pruning heads is worth: name: {keys of the "
        "section model that differ}",
    )
    data: Data = Data()
    subword: Subword = Subword()
    model: Model = Model()
    training: Training = Training()
    l0: L0 = L0()
    lottery: Lottery = Lottery()
    entmax: Entmax = Entmax()
    ranked: Ranked = Ranked()
    subset: Subset = Subset()
    roles: Roles = Roles()
    relevance: Relevance = Relevance()
    evaluation: Evaluation = Evaluation()
    checkpoints: Checkpoints = Checkpoints()
    tracking: Tracking = Tracking()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if found := [*faults(self), *self._corpora_faults()]:
            raise ValueError("\n".join(found))
        return self

    def _corpora_faults(self) -> Iterator[str]:
        for name in self.corpora:
            if not re.fullmatch(NAME, name) or name == self.corpus:
                yield f"corpora.{name}: not a name for a further corpus; letters, digits and ._- but not {self.corpus}"
                continue
            try:
                _other(self, name)
            except UserError as error:
                yield from (f"corpora.{name}.{line}" for line in str(error).splitlines())

    @property
    def corpus(self) -> str:
        """The name of the main corpus, its two languages."""
        return f"{self.data.source_language}-{self.data.target_language}"

    @property
    def heads(self) -> dict[str, int]:
        """Heads of each scope before anything is removed."""
        model = self.model
        encoder = model.layers_encoder * model.heads
        return {"encoder": encoder, "all": encoder + 2 * model.layers_decoder * model.heads}

    @property
    def needs_parser(self) -> bool:
        """Whether trees are asked of the parser: the analysis needs them, none are given, and it knows the language."""
        given = bool(self.roles.trees) or self.data.source == "synthetic"
        return "roles" in self.analyses and not given and parses(self.roles.parser, self.data.source_language)


def studies(study: Study) -> dict[str, Study]:
    """Return the complete settings of each corpus by its name, the main corpus first."""
    return {study.corpus: study, **{name: _other(study, name) for name in study.corpora}}


def _other(study: Study, name: str) -> Study:
    """Return the settings of a further corpus: those of the main one with the keys that differ."""
    override = study.corpora[name]
    if shared := [key for key in SHARED if key in override]:
        raise UserError("\n".join(f"{key}: is the same for all corpora of a study" for key in shared))
    main = study.model_dump(mode="json", exclude={"corpora"})
    return parse(_merge(main, override))


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
