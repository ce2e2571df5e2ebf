"""A finished run with two encoder heads and one cross head, whose links were counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from headcount.analysis.study import FinishedRun
from headcount.observe.found import Links, Maps
from headcount.observe.observation import Observation

CRITERIA = {"positional_share": 0.9, "syntactic_points": 10.0, "rare_share": 0.5}

LINKS = [  # kind, role, labels, hits of the two encoder heads, cases, baseline
    ("positional", "-1", "gold", (9, 8), 10, 0.125),
    ("positional", "+1", "gold", (0, 10), 10, 0.125),
    ("syntactic", "nsubj:to_dependent", "gold", (50, 49), 100, 0.4),
    ("rare", "rare-1", "gold", (99, 99), 100, 0.1),
    ("rare", "rare-2", "gold", (50, 49), 100, 0.2),
    ("positional", "-1", "shuffled", (1, 10), 10, 0.125),
]


def observation() -> Observation:
    """Three heads; a cross head has no links."""

    def column(place: int) -> np.ndarray:
        return np.array([link[place] for link in LINKS])

    hits = np.array([*zip(*(link[3] for link in LINKS), strict=True), [0] * len(LINKS)])
    cases = np.array([column(4), column(4), 0 * column(4)])
    baseline = np.array([column(5), column(5), np.nan * column(5)])
    return Observation(
        attention=np.array(["encoder", "encoder", "decoder_cross"]),
        layer=np.array([0, 1, 0]),
        head=np.array([2, 0, 1]),
        confidence=np.full(3, 0.5),
        confidence_with_eos=np.full(3, 0.5),
        entropy=np.full(3, 1.0),
        density=np.full(3, 0.5),
        density_sd=np.array([0.1, 0.2, 0.3]),
        alpha=np.full(3, np.nan),
        density_histogram=np.ones((3, 15), dtype=np.int64),
        layer_attention=np.array(["encoder", "encoder", "decoder_cross"]),
        layer_index=np.array([0, 1, 0]),
        diversity=np.full(3, np.nan),
        sentences=np.array(15),
        links=Links(
            kind=column(0),
            role=column(1),
            labels=column(2),
            hits=hits,
            cases=cases,
            baseline=baseline,
            measure=np.array(["offset_-1", "merging"]),
            weight=np.array([[0.25, 0.75], [0.5, np.nan], [np.nan, np.nan]]),
            coverage=np.array(["sentences"]),
            covered=np.array([15]),
        ),
        maps=Maps(
            sentence=np.array([7]),
            source=np.array([["▁a", "</s>"]]),
            target=np.array([["<s>"]]),
            encoder=np.array([[[[0.123456, 0.876544], [1.0, 0.0]]], [[[0.5, 0.5], [0.5, np.nan]]]]),
            decoder_cross=np.array([[[[0.0, 1.0]]]]),
        ),
    )


def finished(folder: Path, run: str = "baseline-s1", **settings: Any) -> FinishedRun:
    """Write the run folder and return the run."""
    observation().save(folder / "runs" / run / "observation.npz")
    known = {"run": run, "corpus": "en-de", "method": "baseline", "seed": 1, "parents": []}
    return FinishedRun(folder / "runs" / run, {**known, **settings}, {})
