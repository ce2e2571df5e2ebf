"""Tables made by hand, as small as a test of a claim needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Any

import pandas as pd

from headcount.claims.tables import Tables
from headcount.claims.verdict import Claim
from headcount.heads import ATTENTION_TYPES

LAYERS, HEADS = 4, 2
"""Of every attention type of the dense model."""

DENSE = dict.fromkeys(ATTENTION_TYPES, LAYERS * HEADS)


def claim(test: str, **settings: Any) -> Claim:
    texts = dict.fromkeys(("locator", "statement", "paper_value", "source"), "-")
    return Claim(claim="c", test=test, corpus="main", trust="ours", settings=settings, **texts)


NORMAL = NormalDist().inv_cdf(0.975)


def run(name: str, *, heads: dict[str, int] | None = None, **values: Any) -> dict[str, Any]:
    """Return a row of `runs.csv`; the id tells method and scope, as in `l0-encoder-0.01` or `baseline`."""
    method, scope, *rest = [*name.split("-"), "", ""]
    kept = {**DENSE, **(heads or {})}
    bleu = values.get("bleu", 30.0)
    half = half_width(bleu - 30.0, values.pop("p_value", 0.01))
    return {
        "run": f"{name}-s{values.get('seed', 1)}",
        "corpus": "en-de",
        "parent_normaliser": "softmax",
        "method": method,
        "seed": 1,
        "scope": scope,
        "penalty": float(rest[0]) if method == "l0" else float("nan"),
        **{f"heads_{kind}": count for kind, count in kept.items()},
        "heads": sum(kept.values()),
        "bleu": bleu,
        "bleu_low": bleu - 1.0,
        "bleu_high": bleu + 1.0,
        "bleu_delta": float("nan") if method == "baseline" else bleu - 30.0,
        "bleu_delta_low": float("nan") if method == "baseline" else bleu - 30.0 - half,
        "bleu_delta_high": float("nan") if method == "baseline" else bleu - 30.0 + half,
        **values,
    }


def half_width(delta: float, p_value: float) -> float:
    """Return half the 95 % interval of a normal difference with this two-sided p-value; near 1 that of two sets."""
    if delta == 0:
        return 0.0
    return math.sqrt(2) if p_value > 0.5 else NORMAL * abs(delta) / NormalDist().inv_cdf(1 - p_value / 2)


def study(runs: Iterable[dict[str, Any]] = (), **tables: Iterable[dict[str, Any]]) -> Tables:
    """Return tables of rows; a run that is in no table `heads` has heads as its row of `runs` counts them."""
    runs = list(runs)
    heads = [row for row in runs if "heads_encoder" in row]
    frames = {"runs": runs, "heads": [head for row in heads for head in kept(row)], **tables}
    return Tables({name: pd.DataFrame(list(rows)) for name, rows in frames.items()})


def kept(row: dict[str, Any], gone: Iterable[tuple[str, int, int]] | None = None) -> list[dict[str, Any]]:
    """Return the rows of `heads.csv` for a run: without the heads `gone`, by default the last of each type."""
    places = [(kind, layer, head) for kind in ATTENTION_TYPES for layer in range(LAYERS) for head in range(HEADS)]
    if gone is None:
        gone = [
            place
            for kind in ATTENTION_TYPES
            for place in [place for place in places if place[0] == kind][row[f"heads_{kind}"] :]
        ]
    removed = set(gone)
    return [
        {"run": row["run"], "corpus": row["corpus"], **place_of(place), "kept": int(place not in removed)}
        for place in places
    ]


def place_of(place: tuple[str, int, int]) -> dict[str, Any]:
    return dict(zip(("attention", "layer", "head"), place, strict=True))


def role(name: str, layer: int, head: int, *, hits: int = 95, cases: int = 100, **values: Any) -> dict[str, Any]:
    """Return a row of `roles.csv` of the baseline's encoder."""
    kind = "syntactic" if ":" in name else "rare" if name.startswith("rare") else "positional"
    return {
        "run": "baseline-s1",
        "corpus": "en-de",
        "attention": "encoder",
        "layer": layer,
        "head": head,
        "kind": kind,
        "role": name,
        "labels": "gold",
        "hits": hits,
        "cases": cases,
        "value": hits / cases,
        "baseline": 0.4,
        "named": 1,
        **values,
    }
