"""Rows of `runs.csv` for small invented models, and the numbers of the paper as figures read them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from headcount.claims.numbers import load, table

KINDS = ("encoder", "decoder_self", "decoder_cross")


def run(name: str, method: str, heads: tuple[int, int, int] = (8, 8, 8), bleu: float = 20.0, **others: Any) -> Any:
    """Return a row; the interval of BLEU reaches one point down and two up."""
    return {
        "run": name,
        "corpus": "en-de",
        "method": method,
        "seed": 1,
        "scope": "",
        "setting": "",
        "parent_normaliser": "softmax",
        "penalty": math.nan,
        **dict(zip((f"heads_{kind}" for kind in KINDS), heads, strict=True)),
        "heads": sum(heads),
        "bleu": bleu,
        "bleu_low": bleu - 1,
        "bleu_high": bleu + 2,
        "bleu_delta": math.nan if method == "baseline" else bleu - 20,
        "p_value": math.nan,
        **others,
    }


def gated(scope: str, penalty: float, heads: tuple[int, int, int], bleu: float, **others: Any) -> Any:
    """Return the row of an L0 run."""
    name = f"l0-{scope}-{penalty:g}-s1"
    return run(name, "l0", heads, bleu, scope=scope, penalty=penalty, setting=f"λ={penalty:g}", **others)


def paper(item: str) -> pd.DataFrame:
    """Return what voita2019 prints in a table or figure."""
    numbers = table([load(Path(__file__).parents[2] / "workflow" / "claims", "voita2019")])
    rows = numbers[numbers["item"] == item]
    assert not rows.empty
    return rows
