"""Invented tables of a study with tickets, their controls and the methods they are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pruned_runs import KINDS, run
from role_tables import write

from headcount.heads import Head, Heads, count, flat, full, without

VARIANTS = ("", "michel", "random", "inverse", "per_layer", "from_start")
WEAK = {"random": 1.2, "inverse": 2.0, "per_layer": 0.5, "michel": -0.1, "from_start": 0.9}
METHODS = {
    "same_counts": ("", 0.3),
    "reinit": ("", 1.0),
    "reinit_longer": ("0.001", 0.9),
    "l0": ("", 1.3),
    "subset": ("gumbel", 0.8),
}
LAYERS, HEADS = 3, 8
EVERY = 3 * LAYERS * HEADS
UPDATES, REWIND, ROUND = 2600, 260, 120


def tables(
    folder: Path, *, seeds: Sequence[int] = (1, 2, 3), sizes: Sequence[int] = (36, 18), step: int = 9,
    scope: str = "all", variants: Sequence[str] = VARIANTS, corpus: str = "en-de",
) -> Path:  # fmt: skip
    """Write the tables that the figures of behnke2020 read, and return their folder."""
    found = [_Seed(seed, sizes, step, scope, corpus) for seed in seeds]
    rows: dict[str, list[Any]] = {"runs": [], "heads": [], "rounds": [], "curves": []}
    for one in found:
        one.write(rows, variants)
    write(folder, **{name: pd.DataFrame(listed) for name, listed in rows.items()})
    return folder


class _Seed:
    def __init__(self, seed: int, sizes: Sequence[int], step: int, scope: str, corpus: str) -> None:
        self.seed, self.sizes, self.step, self.scope, self.corpus = seed, sizes, step, scope, corpus
        self.full = full(LAYERS, LAYERS, HEADS)
        self.pool = [head for head in flat(self.full) if scope == "all" or head[0] == scope]
        self.unit = "heads" if scope == "all" else f"{scope} heads"

    def write(self, rows: dict[str, list[Any]], variants: Sequence[str]) -> None:
        self.rows = rows
        self._model("baseline", "baseline", self.full, 0.0, (0, 0, UPDATES), scope="", setting="")
        for variant in variants:
            begin = f"{variant}-" if variant else ""
            order = self._order(variant)
            for number in range(1, (len(self.pool) - min(self.sizes)) // self.step + 1):
                self._round(f"{begin}round-{number:02d}", variant, order, number)
            for size in self.sizes:
                kept = self._kept(order, size)
                self._asked(f"{begin}ticket-{size}", "ticket", variant, kept, size, WEAK.get(variant, 0.0))
        for method, (variant, loss) in METHODS.items():
            kind = "" if method.startswith("reinit") else method
            for size in self.sizes:
                kept = self._kept(self._order(kind), size)
                self._asked(f"{method}-{size}", method, variant, kept, size, loss)
        for size in self.sizes:
            kept = self._kept(self._order(""), size)
            self._asked(f"reinit_longer-{size}-0.002", "reinit_longer", "0.002", kept, size, 0.7)
            self._asked(f"long-l0-{size}", "l0", "long", self._kept(self._order("long"), size), size, 0.9)
            self._asked(
                f"subset-st-{size}", "subset", "straight_through", self._kept(self._order("st"), size), size, 1.1
            )
            for way, loss in (("one_shot", 1.1), ("iterative", 0.8), ("rate_rewound", 0.4)):
                for scorer, worse in (("confidence", 0.2), ("michel", 0.0)):
                    name = f"{scorer}-{way}"
                    kept = self._kept(self._order(scorer), size)
                    self._asked(f"ranked-{name}-{size}", "ranked", name, kept, size, loss + worse)
        for name, layers in (("narrow", LAYERS), ("shallow", LAYERS - 1)):
            heads = full(LAYERS, layers, HEADS)
            self._model(
                name, "smaller", heads, 0.4, (0, 0, UPDATES), variant=name, setting=name, scope="", speedup=1.25
            )

    def _order(self, name: str) -> list[Head]:
        rng = np.random.default_rng([7, sum(name.encode())] if name == "" else [self.seed, sum(name.encode())])
        steady = {"encoder": -0.6, "decoder_self": -0.9, "decoder_cross": 0.8}
        noise = np.random.default_rng([self.seed, 1, sum(name.encode())])
        worth = {
            head: (0.0 if name == "random" else steady[head[0]] * head[1]) + rng.normal() + 0.4 * noise.normal()
            for head in self.pool
        }
        order = sorted(self.pool, key=worth.__getitem__)
        return order[::-1] if name == "inverse" else order

    def _kept(self, order: Sequence[Head], size: int) -> Heads:
        return without(self.full, order[: len(order) - size], HEADS)

    def _asked(self, name: str, method: str, variant: str, kept: Heads, size: int, loss: float) -> None:
        rounds = ROUND * (len(self.pool) - size) // self.step
        lottery = method in ("ticket", "same_counts")
        cost = (
            (0, UPDATES, 400) if method in ("l0", "subset", "ranked") else (rounds, REWIND, UPDATES - REWIND * lottery)
        )
        asked = {"variant": variant, "target_heads": size, "setting": f"{size} of {len(self.pool)} {self.unit}"}
        self._model(name, method, kept, loss, cost, scope=self.scope, **asked)

    def _model(
        self, name: str, method: str, kept: Heads, loss: float, cost: tuple[int, int, int], **others: Any
    ) -> None:
        heads = count(kept)
        share = 1 - sum(heads.values()) / EVERY
        key = sum(f"{name}{self.seed}".encode())
        bleu = 27.0 + 0.4 * math.sin(2.0 * self.seed) - 2.5 * share**3 - loss * (0.3 + 2 * share) + 0.15 * math.sin(key)
        milliseconds = (90 + 4 * self.seed) * (1 - 0.4 * share + 0.01 * math.sin(3 * key))
        own = {"updates_rounds": cost[0], "updates": cost[2], "updates_total": sum(cost)}
        row = run(f"{name}-s{self.seed}", method, tuple(heads[kind] for kind in KINDS), bleu, corpus=self.corpus)
        row |= {"seed": self.seed, "variant": "", "target_heads": math.nan, "speedup": 1 + 0.45 * share, **own}
        row |= {"seconds_per_update": milliseconds / 1000, "train_seconds_total": sum(cost) * milliseconds / 1000}
        row |= {"p_value": math.nan if method == "baseline" else 0.02, **others}
        self.rows["runs"].append(row)
        self._keep(row, kept)
        place = {"run": row["run"], "corpus": self.corpus, "update": cost[2], "metric": "valid/nll"}
        self.rows["curves"].append({**place, "value": 1.8 + loss / 10})

    def _round(self, name: str, variant: str, order: Sequence[Head], number: int) -> None:
        before = order[self.step * (number - 1) :]
        kept = self._kept(order, len(order) - self.step * number)
        share = 1 - (len(before) + EVERY - len(self.pool)) / EVERY
        heads = tuple(count(kept)[kind] for kind in KINDS)
        row = run(f"{name}-s{self.seed}", "round", heads, math.nan, corpus=self.corpus, seed=self.seed)
        row |= {"variant": variant, "scope": self.scope, "setting": f"round {number}", "target_heads": math.nan}
        row |= {"seconds_per_update": (0.09 + 0.004 * self.seed) * (1 - 0.4 * share), "updates": ROUND}
        self.rows["runs"].append(row)
        self._keep(row, kept)
        noise = np.random.default_rng([self.seed, number, sum(variant.encode())])
        place = {"run": row["run"], "corpus": self.corpus, "seed": self.seed, "variant": variant, "round": number}
        place["parent_normaliser"] = "softmax"
        for rank, head in enumerate(order):
            if head in before:
                score = noise.normal() if variant == "random" else rank / 20 + 0.5 * noise.normal()
                self._head("rounds", place, head, score=score, removed=int(rank < self.step * number))
        for head in flat(self.full):
            if head not in order:
                self._head("rounds", place, head, score=math.nan, removed=0)

    def _head(self, table: str, place: dict[str, Any], head: Head, **values: Any) -> None:
        self.rows[table].append({**place, **dict(zip(("attention", "layer", "head"), head, strict=True)), **values})

    def _keep(self, row: dict[str, Any], kept: Heads) -> None:
        place = {"run": row["run"], "corpus": self.corpus, "method": row["method"]}
        known = set(flat(kept))
        everything = kept if row["method"] == "smaller" else self.full
        for head in flat(everything):
            self._head("heads", place, head, kept=int(head in known))
