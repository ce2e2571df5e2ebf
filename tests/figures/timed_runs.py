"""Tables `runs` and `speeds` of small invented models: a dense one, two tickets, encoder gates, and a twin."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from pruned_runs import gated, run

CONDITIONS = [(4, 32), (4, 1), (1, 32), (1, 1)]
SPEEDUPS = {"baseline-s1": 1.0, "l0-encoder-0.1-s1": 1.1, "ticket-12-s1": 1.3, "ticket-6-s1": 1.5}
CEILINGS = {"baseline-s1": 1.0, "l0-encoder-0.1-s1": 1.2, "ticket-12-s1": 1.29, "ticket-6-s1": 1.4}
PROFILES = {"baseline-s1": (5.0, 2.0, 1.0, 2.0), "ticket-6-s1": (4.0, 0.5, 0.0, 2.0)}
KINDS = ("seconds_matrix_products", "seconds_attention", "seconds_cache", "seconds_rest")


def runs() -> pd.DataFrame:
    rows = [
        run("baseline-s1", "baseline"),
        gated("encoder", 0.1, (2, 8, 8), 19.0),
        run("ticket-12-s1", "ticket", (4, 4, 4), 19.0, scope="all", setting="12 of 24 heads"),
        run("ticket-6-s1", "ticket", (2, 2, 2), 18.0, scope="all", setting="6 of 24 heads"),
        run("reinit-6-s1", "reinit", (2, 2, 2), 17.0, scope="all", setting="6 of 24 heads"),
        run("entmax15-s1", "entmax15", parent_normaliser="entmax15"),
    ]
    return pd.DataFrame(rows)


def timed(name: str, timed_run: str, beam: int, batch: int) -> dict[str, Any]:
    """Return a row of `speeds.csv`; the dense model takes 10 ms, and twice as long for single sentences."""
    dense = 0.01 * (2 if batch == 1 else 1)
    profile = (value / 1000 for value in PROFILES.get(name, [math.nan] * 4))
    return {
        "run": name,
        "corpus": "en-de",
        "beam": beam,
        "sentences_per_batch": batch,
        "seconds_per_sentence": dense / SPEEDUPS[timed_run],
        "low": 0.9 * dense,
        "high": 1.1 * dense,
        "speedup": SPEEDUPS[timed_run],
        "speedup_vs_masked": math.nan if name == "baseline-s1" else 1.1 * SPEEDUPS[timed_run],
        "ceiling": CEILINGS[timed_run],
        "timed_run": timed_run,
        **dict(zip(KINDS, profile, strict=True)),
    }


def speeds(*conditions: tuple[int, int]) -> pd.DataFrame:
    names = [*SPEEDUPS, "reinit-6-s1"]
    shares = {"reinit-6-s1": "ticket-6-s1"}
    rows = [timed(name, shares.get(name, name), *condition) for name in names for condition in conditions]
    return pd.DataFrame(rows)
