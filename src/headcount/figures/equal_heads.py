"""The models that were to keep the same number of heads: the common ground of the comparisons of behnke2020.

A contest is one corpus and one scope, all attentions or the encoder's alone; an arm of it is one way to get to few
heads, with a model for each number of heads. Models of softmax attention only.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from headcount.figures.groups import SOFTMAX, Group, corpora, note, tried
from headcount.figures.style import Look, look

WAYS = {
    "ticket": ("ticket", ""),
    "ticket-michel": ("ticket", "michel"),
    "ticket-per_layer": ("ticket", "per_layer"),
    "ticket-from_start": ("ticket", "from_start"),
    "ticket-random": ("ticket", "random"),
    "ticket-inverse": ("ticket", "inverse"),
    "same_counts": ("same_counts", ""),
    "reinit": ("reinit", ""),
    "reinit_longer": ("reinit_longer", r"[0-9.e-]+"),
    "l0": ("l0", ".*"),
    "subset": ("subset", ".*"),
    "ranked-one_shot": ("ranked", ".*-one_shot"),
    "ranked-iterative": ("ranked", ".*-iterative"),
    "ranked-rate_rewound": ("ranked", ".*-rate_rewound"),
}
"""Arms: the method of each and what its variants are called; where several match, they were all tried for it."""

LOSS = "valid/nll"
SCOPES = {"all": "heads", "encoder": "heads_encoder"}
"""Column of `runs.csv` that counts the heads of a scope."""


@dataclass(frozen=True)
class Arm:
    """One way to get to few heads: its models by the number of heads that they were to keep, most heads first."""

    name: str
    models: Mapping[int, Group]
    tries: int
    """Settings that were tried for it."""

    @property
    def look(self) -> Look:
        """How the arm is drawn."""
        method, _, variant = self.name.partition("-")
        return look(method, variant)

    @property
    def label(self) -> str:
        """The arm's name, with how many settings were tried where that is more than one."""
        return self.look.label + (f" (best of {self.tries})" if self.tries > 1 else "")


@dataclass(frozen=True)
class Contest:
    """The models of one corpus and scope that were to keep some number of heads."""

    corpus: str
    scope: str
    dense: Group | None
    every: int
    """Heads that the dense model has in the scope."""
    models: Sequence[Group]
    smaller: Sequence[Group]
    """Dense models of less compute."""
    losses: Mapping[str, float]
    """Validation loss at the end of each run."""

    @functools.cached_property
    def sizes(self) -> list[int]:
        """The numbers of heads that were asked for, most first."""
        return sorted({group.target_heads for group in self.models if group.target_heads is not None}, reverse=True)

    @property
    def heads(self) -> str:
        """What is counted: `heads` or `encoder heads`."""
        return "heads" if self.scope == "all" else f"{self.scope} heads"

    def titled(self, text: str, runs: pd.DataFrame) -> str:
        """Put the corpus before a text where the study has several."""
        return ": ".join(filter(None, (note(runs, self.corpus).removeprefix(", "), text)))

    def title(self, runs: pd.DataFrame) -> str:
        """Return the corpus where the study has several, and the scope where it is not the whole model."""
        scope = "" if self.scope == "all" else f"{self.heads} only"
        return ", ".join(filter(None, (note(runs, self.corpus).removeprefix(", "), scope)))

    def at(self, heads: int) -> list[Group]:
        """Return every model that was to keep so many heads."""
        return [group for group in self.models if group.target_heads == heads]

    def arm(self, name: str) -> Arm | None:
        """Return an arm; of several settings those whose validation loss at the end is the lowest over the seeds.

        Args:
            name: one of `WAYS`, or `ticket-<variant>`.

        """
        method, variants = WAYS.get(name) or (name.partition("-")[0], re.escape(name.partition("-")[2]))
        found = [g for g in self.models if g.method == method and re.fullmatch(variants, g.variant)]
        by_size = {heads: [group for group in found if group.target_heads == heads] for heads in self.sizes}
        chosen = {heads: min(of, key=self.loss) for heads, of in by_size.items() if of}
        return Arm(name, chosen, len({group.variant for group in found})) if chosen else None

    def arms(self, names: Sequence[str]) -> list[Arm]:
        """Return those of some arms that the study has."""
        return [arm for name in names if (arm := self.arm(name)) is not None]

    def tickets(self) -> list[str]:
        """Return the names of the arms that draw tickets, the main one first, then those of `WAYS`."""
        there = {f"ticket-{group.variant}" for group in self.models if group.method == "ticket" and group.variant}
        known = [name for name in WAYS if name == "ticket" or name in there]
        return [*known, *sorted(there.difference(known))]

    def loss(self, group: Group) -> float:
        """Return the mean validation loss of a group at the end, infinite where it was not validated."""
        known = [self.losses[run] for run in group.rows["run"] if run in self.losses]
        return sum(known) / len(known) if known else float("inf")


def contests(runs: pd.DataFrame, curves: pd.DataFrame | None = None) -> list[Contest]:
    """Return the contests of a study, the main corpus first; `curves` only matter where an arm has several settings."""
    losses = _losses(curves) if curves is not None else {}
    return [contest for corpus in corpora(runs) for contest in _of_corpus(runs, corpus, losses)]


def _of_corpus(runs: pd.DataFrame, corpus: str, losses: Mapping[str, float]) -> Iterator[Contest]:
    found = [group for group in tried(runs) if (group.corpus, group.normaliser) == (corpus, SOFTMAX)]
    scored = [group for group in found if group.bleu() is not None]
    dense = next((group for group in scored if group.method == "baseline"), None)
    smaller = [group for group in scored if group.method == "smaller"]
    for scope, column in SCOPES.items():
        models = [group for group in scored if group.scope == scope and group.target_heads is not None]
        if models:
            every = max(int(group.rows[column].max()) for group in ([dense] if dense else models))
            yield Contest(corpus, scope, dense, every, models, smaller, losses)


def _losses(curves: pd.DataFrame) -> dict[str, float]:
    """Return the last validation loss of each run."""
    validated = curves[curves["metric"] == LOSS].dropna(subset="value").sort_values("update")
    return {str(run): float(value) for run, value in validated.groupby("run")["value"].last().items()}
