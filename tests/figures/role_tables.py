"""Small invented tables of head roles, as the figures of functions read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd


def role(run: str, layer: int, head: int, name: str, hits: int = 0, cases: int = 100, **others: Any) -> dict[str, Any]:
    """Return a row of `roles.csv`; `named` is 1 unless said otherwise."""
    kind = "syntactic" if ":" in name else "rare" if name.startswith("rare") else "positional"
    row = {
        "run": run,
        "corpus": "en-de",
        "method": run.split("-")[0],
        "attention": "encoder",
        "layer": layer,
        "head": head,
        "kind": kind,
        "role": name,
        "labels": "gold",
        "hits": hits,
        "cases": cases,
        "baseline": 0.35 if kind == "syntactic" else None,
        "named": 1,
        **others,
    }
    return {**row, "value": row["hits"] / row["cases"]}


def measured(run: str, measure: str, values: list[list[float]], corpus: str = "en-de") -> list[dict[str, Any]]:
    """Return rows of `observations.csv` or `relevance.csv` from values as [layer, head]."""
    place = {"run": run, "corpus": corpus, "method": "baseline", "attention": "encoder"}
    return [
        {**place, "layer": layer, "head": head, "measure": measure, "value": value}
        for layer, heads in enumerate(values)
        for head, value in enumerate(heads)
    ]


def kept(run: str, heads: list[list[int]], corpus: str = "en-de") -> list[dict[str, Any]]:
    """Return rows of `heads.csv`, 1 for a kept encoder head, from [layer, head]."""
    place = {"run": run, "corpus": corpus, "method": run.split("-")[0], "attention": "encoder"}
    return [
        {**place, "layer": layer, "head": head, "kept": value}
        for layer, values in enumerate(heads)
        for head, value in enumerate(values)
    ]


def write(folder: Path, **tables: pd.DataFrame) -> Path:
    """Write tables as CSV files and return their folder."""
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder
