"""The functions of encoder heads as tests of claims see them: which heads of a run are named, and for what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from headcount.claims.sweeps import baselines
from headcount.claims.tables import Lacking, Tables

KINDS = ("positional", "syntactic", "rare")

PLACE = ["layer", "head"]


@dataclass(frozen=True)
class Roles:
    """The roles that were tested on the encoder heads of one run.

    Attributes:
        run: id.
        corpus: of the run.
        seed: of the run.
        rows: rows of `roles.csv` with the true labels.
        shuffled: rows with shuffled labels, the control.
        kept: heads of the encoder that the model has, as rows of layer and head.
        layers: encoder layers of the dense model.

    """

    run: str
    corpus: str
    seed: int
    rows: pd.DataFrame
    shuffled: pd.DataFrame
    kept: pd.DataFrame
    layers: int

    @property
    def named(self) -> pd.DataFrame:
        """The rows of the roles that a head has."""
        return self.rows[self.rows["named"] == 1]

    def heads(self, kind: str = "") -> set[tuple[int, int]]:
        """Return the heads, as (layer, head), that have a role, or one of this kind."""
        named = self.named if kind == "" else self.named[self.named["kind"] == kind]
        return set(zip(named["layer"], named["head"], strict=True))

    @property
    def kinds(self) -> set[str]:
        """The kinds of roles that at least one head has."""
        return set(self.named["kind"])

    @property
    def named_share(self) -> float:
        """The share of the model's encoder heads that have a role."""
        return len(self.heads()) / len(self.kept)


def dense_roles(tables: Tables) -> list[Roles]:
    """Return the roles of the dense softmax models, one a corpus and seed.

    Raises:
        Lacking: no such model was analysed.

    """
    roles = [
        roles_of(tables, str(run), str(corpus), int(seed))
        for run, corpus, seed in baselines(tables)[["run", "corpus", "seed"]].itertuples(index=False)
        if _analysed(tables, str(run))
    ]
    if not roles:
        raise Lacking("no dense model with roles in roles.csv")
    return roles


def roles_of(tables: Tables, run: str, corpus: str, seed: int) -> Roles:
    """Return the roles of one run.

    Raises:
        Lacking: the run was not analysed.

    """
    if not _analysed(tables, run):
        raise Lacking(f"{run} has no roles in roles.csv")
    heads = _encoder(tables["heads"], run)
    rows = _encoder(tables["roles"], run)
    return Roles(
        run,
        corpus,
        seed,
        rows[rows["labels"] == "gold"],
        rows[rows["labels"] == "shuffled"],
        heads.loc[heads["kept"] == 1, PLACE],
        int(heads["layer"].max()) + 1,
    )


def best(rows: pd.DataFrame, role: str) -> Iterator[pd.Series]:
    """Yield the row of the head that fits a role best; nothing where the role was not tested."""
    tested = rows[(rows["role"] == role) & rows["value"].notna()]
    if not tested.empty:
        yield tested.iloc[int(tested["value"].argmax())]


def relation_of(role: str) -> str:
    """Return the relation of a syntactic role."""
    return role.partition(":")[0]


def _analysed(tables: Tables, run: str) -> bool:
    return bool((tables["roles"]["run"] == run).any())


def _encoder(table: pd.DataFrame, run: str) -> pd.DataFrame:
    return table[(table["run"] == run) & (table["attention"] == "encoder")]
