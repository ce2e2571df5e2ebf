from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from headcount.figures.groups import groups, in_order, read


def test_seeds_are_joined_and_methods_ordered(tables_of: Callable[..., Path]) -> None:
    found = groups(read(tables_of(seeds=(1, 2)), "runs"))
    assert [group.method for group in found][:3] == ["baseline", "entmax15", "entmax_alpha"]
    assert all(len(group.rows) == 2 for group in found if group.method != "lookup")
    penalties = [group.penalty for group in found if group.scope == "encoder"]
    assert penalties == sorted(penalties)
    heads = [group.value("heads") for group in found if group.method == "ticket"]
    assert [value.centre for value in heads if value] == [36, 18]
    assert in_order(["reinit", "mine", "baseline"]) == ["baseline", "reinit", "mine"]


def test_several_seeds_give_mean_and_standard_deviation(tables_of: Callable[..., Path]) -> None:
    runs = read(tables_of(seeds=(1, 2)), "runs")
    scores = runs[runs["method"] == "baseline"]["bleu"]
    value = groups(runs)[0].bleu()
    assert value is not None
    assert value.seeds == 2
    assert value.centre == pytest.approx(scores.mean())
    assert value.error == pytest.approx((scores.std(), scores.std()))


def test_one_seed_gives_the_bootstrap_interval(tables_of: Callable[..., Path]) -> None:
    runs = read(tables_of(), "runs")
    value = groups(runs)[0].bleu()
    assert value is not None
    assert (value.low, value.high, value.seeds) == (runs["bleu_low"][0], runs["bleu_high"][0], 1)


def test_what_no_run_has_is_no_value(tables_of: Callable[..., Path]) -> None:
    runs = read(tables_of(), "runs")
    rounds = next(group for group in groups(runs) if group.method == "round")
    assert rounds.bleu() is None
    assert pd.isna(rounds.penalty)
