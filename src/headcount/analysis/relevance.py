"""What was measured of each head's relevance, and how far the measures rank the heads alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from headcount.analysis.study import FinishedRun
from headcount.observe.observation import Observation

RELEVANCE = ("run", "corpus", "method", "attention", "layer", "head", "measure", "value", "low", "high")
"""Columns of `relevance.csv`."""

AGREEMENT = ("run", "corpus", "attention", "layer", "measure_a", "measure_b", "spearman", "heads")
"""Columns of `agreement.csv`; `layer` is a number, or `all` for the heads of all layers ranked together."""

RELEVANCE_OF_PAPER, CONFIDENCE = "lrp_epsilon", "confidence"
"""Measures with which the others are compared."""


def relevance(runs: Sequence[FinishedRun]) -> dict[str, pd.DataFrame]:
    """Collect `relevance.csv` and `agreement.csv` from the runs whose heads were measured."""
    tables = [pd.DataFrame(columns=list(RELEVANCE))]
    rows: list[dict[str, object]] = []
    for run in runs:
        path = run.folder / "relevance.csv"
        if not path.is_file():
            continue
        measured = pd.read_csv(path)
        tables.append(measured.assign(run=run.run, corpus=run.corpus, method=run.method)[list(RELEVANCE)])
        rows += [{"run": run.run, "corpus": run.corpus, **row} for row in _agreement(_measures(run, measured))]
    stacked = pd.concat(tables[1:], ignore_index=True) if len(tables) > 1 else tables[0]
    return {"relevance": stacked, "agreement": pd.DataFrame(rows, columns=list(AGREEMENT))}


def _measures(run: FinishedRun, measured: pd.DataFrame) -> pd.DataFrame:
    """Return one row for every head and one column for every measure, with the confidence where it was observed."""
    wide = measured.pivot(index=["attention", "layer", "head"], columns="measure", values="value")
    observation = run.folder / "observation.npz"
    if observation.is_file():
        seen = Observation.load(observation)
        heads = pd.MultiIndex.from_arrays([seen.attention, seen.layer, seen.head], names=wide.index.names)
        wide = wide.join(pd.Series(seen.confidence, index=heads, name=CONFIDENCE))
    return wide


def _agreement(wide: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the rank correlations within each layer and over all layers of an attention type.

    Only heads that have both measures are ranked; where fewer than two remain, or all are equal, there is no row.
    """
    relevance = [name for name in wide.columns if name != CONFIDENCE]
    pairs = [(name, RELEVANCE_OF_PAPER) for name in relevance if name != RELEVANCE_OF_PAPER]
    pairs += [(name, CONFIDENCE) for name in relevance]
    for attention, of_type in wide.groupby(level="attention"):
        for layer, heads in [*of_type.groupby(level="layer"), ("all", of_type)]:
            for a, b in pairs:
                ranks = heads.reindex(columns=[a, b]).dropna().rank()
                spearman = ranks[a].corr(ranks[b])  # Spearman's ρ is Pearson's r of the ranks
                if pd.notna(spearman):
                    values = (attention, layer, a, b, spearman, len(ranks))
                    yield dict(zip(AGREEMENT[2:], values, strict=True))
