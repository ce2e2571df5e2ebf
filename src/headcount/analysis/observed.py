"""What was observed of the attention maps: numbers for each head, histograms of density, maps of a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from headcount.analysis.study import FinishedRun
from headcount.observe.observation import Observation

HEAD = ("attention", "layer", "head")

MEASURES = ("run", "corpus", "method", *HEAD, "measure", "value")
"""Columns of `observations.csv`, whose `head` is empty where the row speaks of a layer, and of `links.csv`."""

DENSITY = ("run", "corpus", "method", *HEAD, "low", "high", "sentences")
"""Columns of `density.csv`: sentences whose attention by this head has a density in (low, high]."""

MAPS = ("run", "corpus", *HEAD, "sentence", "query", "key", "query_token", "key_token", "weight")
"""Columns of `maps.csv`: places are counted from 0, tokens are pieces."""

HISTOGRAM = "density_bin_"

BASELINE = "baseline"
"""Method of the run that everything else is compared with."""

DIGITS_OF_A_WEIGHT = 4
"""Decimals of a weight in `maps.csv`, which is made to be drawn; only an exact 0 becomes 0."""


def observations(runs: Sequence[FinishedRun]) -> Iterator[tuple[FinishedRun, Observation]]:
    """Yield the runs that were observed."""
    for run in runs:
        path = run.folder / "observation.npz"
        if path.is_file():
            yield run, Observation.load(path)


def observed(runs: Sequence[FinishedRun]) -> dict[str, pd.DataFrame]:
    """Collect `observations.csv`, `density.csv`, `links.csv` and `maps.csv` from the runs that were observed.

    Maps are kept of unpruned models, of all baselines and else of each corpus's first seed.
    """
    tables: dict[str, list[pd.DataFrame]] = {
        "observations": [pd.DataFrame(columns=list(MEASURES))],
        "density": [pd.DataFrame(columns=list(DENSITY))],
        "links": [pd.DataFrame(columns=list(MEASURES))],
        "maps": [pd.DataFrame(columns=list(MAPS))],
    }
    first_seed: dict[str, int] = {}
    for run in runs:
        first_seed[run.corpus] = min(run.settings["seed"], first_seed.get(run.corpus, run.settings["seed"]))
    for run, observation in observations(runs):
        names = {"run": run.run, "corpus": run.corpus, "method": run.method}
        table = observation.to_table().assign(**names)
        in_bin = table["measure"].str.startswith(HISTOGRAM)
        tables["observations"].append(table.loc[~in_bin, list(MEASURES)])
        tables["density"].append(_histogram(table.loc[in_bin]))
        tables["links"].append(_links(observation).assign(**names)[list(MEASURES)])
        wanted = run.method == BASELINE or run.settings["seed"] == first_seed[run.corpus]
        if wanted and not run.settings["parents"]:
            tables["maps"].append(_maps(observation).assign(**names)[list(MAPS)])
    return {name: _stack(parts) for name, parts in tables.items()}


def heads_of(observation: Observation) -> pd.DataFrame:
    """Return attention, layer and head of each row of an observation."""
    return pd.DataFrame({name: getattr(observation, name) for name in HEAD})


def _histogram(rows: pd.DataFrame) -> pd.DataFrame:
    number = rows["measure"].str.removeprefix(HISTOGRAM).astype(int)
    width = 1 / number.max()
    low, high = (number - 1) * width, number * width
    return rows.assign(low=low, high=high, sentences=rows["value"].astype(int))[list(DENSITY)]


def _links(observation: Observation) -> pd.DataFrame:
    """Return a row for each head and mean weight (correia2019 figures 7 to 10)."""
    links, heads = observation.links, heads_of(observation)
    columns = {str(name): links.weight[:, number] for number, name in enumerate(links.measure)}
    columns["density_sd"] = observation.density_sd
    parts = [heads.assign(measure=name, value=values) for name, values in columns.items()]
    return pd.concat(parts, ignore_index=True).dropna(subset=["value"])


def _maps(observation: Observation) -> pd.DataFrame:
    """Return a row for each weight of the kept maps."""
    maps = observation.maps
    parts = [
        _cells(observation, "encoder", maps.encoder, maps.source),
        _cells(observation, "decoder_cross", maps.decoder_cross, maps.target),
    ]
    return pd.concat(parts, ignore_index=True)


def _cells(
    observation: Observation, attention: str, weights: npt.NDArray[np.float64], queries: npt.NDArray[np.str_]
) -> pd.DataFrame:
    heads = heads_of(observation).query("attention == @attention")
    row, slot, query, key = np.nonzero(~np.isnan(weights))
    seen = weights[row, slot, query, key]
    return pd.DataFrame(
        {
            **{name: heads[name].to_numpy()[row] for name in HEAD},
            "sentence": observation.maps.sentence[slot],
            "query": query,
            "key": key,
            "query_token": queries[slot, query],
            "key_token": observation.maps.source[slot, key],
            "weight": np.where(seen > 0, seen.round(DIGITS_OF_A_WEIGHT).clip(10.0**-DIGITS_OF_A_WEIGHT), 0.0),
        }
    )


def _stack(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables[1:], ignore_index=True) if len(tables) > 1 else tables[0]
