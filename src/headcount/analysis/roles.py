"""Which heads are positional, syntactic or look at rare words, by their counts and the thresholds of the settings.

A head is named by voita2019 section 5: it is positional when at least `positional_share` of its largest weights are at
the offset, syntactic when it beats the best fixed offset of the relation by `syntactic_points` percentage points, and a
rare-word head when at least `rare_share` of its largest weights are on one of the two least frequent pieces. The same
criteria on shuffled labels tell how often that happens by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headcount.analysis.observed import HEAD, heads_of, observations
from headcount.analysis.study import FinishedRun, read_json
from headcount.observe.found import GOLD
from headcount.observe.observation import Observation

COLUMNS = ("run", "corpus", "method", *HEAD, "kind", "role", "labels", "hits", "cases", "value", "baseline", "named")
"""Columns of `roles.csv`; `named` is 1 or 0."""

CRITERIA = ("positional_share", "syntactic_points", "rare_share")
"""The settings that decide; they are kept beside the named heads."""

RARE_NAMED = "rare-2"
"""The role that makes a rare-word head; the other one, the least frequent piece alone, has no threshold."""

ROLES_FILE = "roles.json"


def roles_table(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """Collect `roles.csv` from the runs whose heads were named."""
    parts = [pd.DataFrame(columns=list(COLUMNS))]
    for run, observation in observations(runs):
        named = read_json(run.folder / ROLES_FILE)
        if named is not None:
            rows = role_rows(observation, named["criteria"])
            parts.append(rows.assign(run=run.run, corpus=run.corpus, method=run.method)[list(COLUMNS)])
    return pd.concat(parts[1:], ignore_index=True) if len(parts) > 1 else parts[0]


def role_rows(observation: Observation, criteria: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each head and link that has cases, gold and shuffled."""
    links = observation.links
    row, link = np.nonzero(links.cases)
    hits, cases = links.hits[row, link], links.cases[row, link]
    table = heads_of(observation).iloc[row].reset_index(drop=True)
    table = table.assign(
        kind=links.kind[link],
        role=links.role[link],
        labels=links.labels[link],
        hits=hits,
        cases=cases,
        value=hits / cases,
        baseline=links.baseline[row, link],
    )
    return table.assign(named=_named(table, criteria).astype(int))


def named_heads(observation: Observation, criteria: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the heads that have a role by the true labels, each with its roles in the order of `roles.csv`."""
    rows = role_rows(observation, criteria)
    rows = rows[(rows["named"] == 1) & (rows["labels"] == GOLD)]
    rows = rows.assign(role=rows["role"].where(rows["kind"] != "rare", "rare"))
    found: dict[tuple[str, int, int], list[str]] = {}
    for attention, layer, head, role in rows[[*HEAD, "role"]].itertuples(index=False):
        found.setdefault((attention, int(layer), int(head)), []).append(role)
    return [{**dict(zip(HEAD, head, strict=True)), "roles": roles} for head, roles in found.items()]


def tested_relations(observation: Observation) -> list[str]:
    """List the relations that were looked for in the observation."""
    links = observation.links
    roles = links.role[links.kind == "syntactic"].tolist()
    return list(dict.fromkeys(role.rpartition(":")[0] for role in roles))


def _named(rows: pd.DataFrame, criteria: Mapping[str, Any]) -> pd.Series[bool]:
    value, kind = rows["value"], rows["kind"]
    syntactic = value >= rows["baseline"] + criteria["syntactic_points"] / 100
    named: pd.Series[bool] = (
        ((kind == "positional") & (value >= criteria["positional_share"]))
        | ((kind == "syntactic") & syntactic)
        | ((rows["role"] == RARE_NAMED) & (value >= criteria["rare_share"]))
    )
    return named
