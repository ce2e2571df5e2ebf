"""Rows of the tables of a lottery, made by hand; `hand_tables` has those that every study shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hand_tables import DENSE, HEADS, LAYERS, kept, place_of, run

from headcount.heads import ATTENTION_TYPES

ALL = sum(DENSE.values())

TICKET = {"method": "ticket", "variant": ""}

Gone = Mapping[str, Sequence[int]]
"""Attention type to how many of its heads are gone in each layer."""


def dense(**values: Any) -> dict[str, Any]:
    """Return the row of a dense model of 30 BLEU."""
    unasked = dict.fromkeys(("target_heads", "speedup"), float("nan"))
    return run("baseline", **{**unasked, "updates_total": 100, "seconds_per_update": 1.0, **values})


def small(
    method: str,
    heads: int,
    bleu: float,
    *,
    variant: str = "",
    scope: str = "all",
    seed: int = 1,
    half: float = 0.1,
    **values: Any,
) -> dict[str, Any]:
    """Return the row of a model with so many heads of the scope; `half` is half the interval of its difference."""
    left = {"heads": heads} if scope == "all" else {"heads_encoder": heads, "heads": ALL - DENSE["encoder"] + heads}
    return {
        **run("baseline", bleu=bleu, seed=seed),
        "run": "-".join([*([variant] if variant else []), method, str(heads)]) + f"-s{seed}",
        "method": method,
        "variant": variant,
        "scope": scope,
        "setting": f"{heads} heads",
        "target_heads": heads,
        "bleu_delta": bleu - 30,
        "bleu_delta_low": bleu - 30 - half,
        "bleu_delta_high": bleu - 30 + half,
        **left,
        **values,
    }


def validated(run: str, *losses: float) -> list[dict[str, Any]]:
    """Return rows of `curves.csv`: validation losses in their order, among other metrics."""
    place = {"run": f"{run}-s1", "corpus": "en-de"}
    other = {**place, "update": 1000, "metric": "loss", "value": 0.0}
    return [other, *({**place, "update": n, "metric": "valid/nll", "value": loss} for n, loss in enumerate(losses))]


def drawn(number: int, gone: Gone, *, seed: int = 1, **values: Any) -> dict[str, Any]:
    """Return the row of a round after which these heads are gone."""
    left = {kind: DENSE[kind] - sum(gone.get(kind, ())) for kind in ATTENTION_TYPES}
    return {
        **run("baseline", heads=left, seed=seed),
        **{"run": f"round-{number}-s{seed}", "method": "round", "variant": "", "scope": "all", "bleu": float("nan")},
        **values,
    }


def heads_of(row: Mapping[str, Any], gone: Gone) -> list[dict[str, Any]]:
    """Return the rows of `heads.csv` for a round: the first heads of each layer are gone."""
    places = [
        (kind, layer, head)
        for kind, layers in gone.items()
        for layer, count in enumerate(layers)
        for head in range(count)
    ]
    return kept(dict(row), places)


def scored(row: Mapping[str, Any], number: int, heads: int = ALL, **scores: float) -> list[dict[str, Any]]:
    """Return the rows of `rounds.csv` for a round whose model had so many heads: attention type to its one score."""
    places = [(kind, layer, head) for kind in ATTENTION_TYPES for layer in range(LAYERS) for head in range(HEADS)]
    return [
        {
            **{name: row[name] for name in ("run", "corpus", "seed", "variant")},
            **{"round": number, **place_of(place), "score": scores.get(place[0], 0.5), "removed": 0},
        }
        for place in places[:heads]
    ]
