"""The per-head summaries of one model on one corpus: arrays on disk, a tidy table to read; free of torch."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from headcount.errors import UserError
from headcount.files import atomic_path
from headcount.observe.found import Links, Maps

HEAD_MEASURES = ("confidence", "confidence_with_eos", "entropy", "density", "density_sd", "alpha")
"""Measures with one number a head, in the order of the table."""

PARTS = {"links": Links, "maps": Maps}
"""Fields that hold arrays of their own, saved under `links.hits` and the like."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Observation:
    """One row for every head that the model has, and one for every layer; NaN where a measure is not defined.

    Attributes:
        attention, layer, head: [row] which head; layers and original head ids counted from 0.
        confidence: [row] mean largest weight, EOS neither query nor key (voita2019 section 4).
        confidence_with_eos: [row] the same over all pieces (behnke2020).
        entropy: [row] mean entropy of an attention row, in nats.
        density: [row] share of the weights above 0 (correia2019).
        density_sd: [row] standard deviation of that share over the sentences (correia2019 figure 10).
        alpha: [row] the learned shape of the normaliser; NaN for a normaliser without one.
        density_histogram: [row, bin] sentences by their density, bins of equal width over (0, 1].
        layer_attention, layer_index: [layer] which layer.
        diversity: [layer] mean Jensen-Shannon divergence between the layer's heads over log(heads), from 0 to 1.
        sentences: [] sentences of the corpus.
        links: what the heads look at, where the corpus was labelled.
        maps: whole attention maps of a few sentences.

    """

    attention: Names
    layer: Integers
    head: Integers
    confidence: Floats
    confidence_with_eos: Floats
    entropy: Floats
    density: Floats
    density_sd: Floats
    alpha: Floats
    density_histogram: Integers
    layer_attention: Names
    layer_index: Integers
    diversity: Floats
    sentences: Integers
    links: Links = field(default_factory=Links.none)
    maps: Maps = field(default_factory=Maps.none)

    def save(self, path: Path) -> None:
        """Write all arrays to one file that appears whole or not at all."""
        parts = {name: getattr(self, name) for name in PARTS}
        arrays = {name: value for name, value in vars(self).items() if name not in PARTS}
        for name, part in parts.items():
            arrays |= {f"{name}.{key}": value for key, value in vars(part).items()}
        with atomic_path(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **arrays)

    @classmethod
    def load(cls, path: Path) -> Observation:
        """Read what `save` wrote.

        Raises:
            UserError: the file is missing, damaged or no observation.

        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {entry.name: stored[entry.name] for entry in fields(cls) if entry.name not in PARTS}
                parts = {
                    name: part(**{entry.name: stored[f"{name}.{entry.name}"] for entry in fields(part)})
                    for name, part in PARTS.items()
                }
                return cls(**arrays, **parts)
        except FileNotFoundError:
            raise UserError(f"{path}: no such observation; run `headcount record` first") from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"{path}: not a readable observation ({error}); delete it and record again") from None

    def to_table(self) -> pd.DataFrame:
        """Return one row for every head and measure, and for every layer's diversity; undefined values are left out.

        Columns: attention, layer, head (missing where the row speaks of a layer), measure, value. The measures
        `density_bin_01` to `density_bin_15` count sentences.
        """
        columns = {name: getattr(self, name) for name in HEAD_MEASURES}
        for index, counts in enumerate(self.density_histogram.T, start=1):
            columns[f"density_bin_{index:02d}"] = counts
        heads = pd.concat(
            [
                pd.DataFrame(
                    {
                        "attention": self.attention,
                        "layer": self.layer,
                        "head": self.head,
                        "measure": name,
                        "value": values.astype(float),
                    }
                )
                for name, values in columns.items()
            ]
        )
        layers = pd.DataFrame(
            {
                "attention": self.layer_attention,
                "layer": self.layer_index,
                "measure": "diversity",
                "value": self.diversity,
            }
        )
        table = pd.concat([heads, layers], ignore_index=True).astype({"head": "Int64"})
        return table.dropna(subset=["value"]).reset_index(drop=True)
