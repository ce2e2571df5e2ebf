from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from lottery_tables import EVERY, HEADS, tables

from headcount.figures.groups import read
from headcount.figures.lottery_rounds import left, main_rounds


def test_heads_are_counted_after_each_round(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1, 2), sizes=(36,), step=9, variants=("", "michel"))
    ((corpus, rounds),) = main_rounds(read(folder, "runs"), read(folder, "rounds"))
    assert corpus == "en-de"
    assert set(rounds["variant"]) == {""}
    table = left(rounds)
    assert table.sum(axis=1).groupby("round").unique().map(list).to_dict() == {
        number: [EVERY - 9 * number] for number in range(5)
    }
    heads = read(folder, "heads")
    last = heads[(heads["run"] == "round-04-s2") & (heads["kept"] == 1)].groupby(["attention", "layer"]).size()
    assert table.loc[(2, 4)][lambda row: row > 0].to_dict() == last.to_dict()


def test_a_lottery_of_the_encoder_is_about_the_encoder(tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(6,), step=9, scope="encoder", variants=("",))
    ((_, rounds),) = main_rounds(read(folder, "runs"), read(folder, "rounds"))
    table = left(rounds)
    assert [kind for kind, _ in table.columns] == ["encoder"] * 3
    assert (table.loc[(1, 0)] == HEADS).all()


def test_an_empty_layer_counts_nothing() -> None:
    rows = [(1, 0, 0, 1), (1, 1, 0, 0), (2, 1, 0, 0)]
    rounds = pd.DataFrame(rows, columns=["round", "layer", "head", "removed"]).assign(seed=1, attention="encoder")
    assert left(rounds).loc[1].to_numpy().tolist() == [[1, 1], [0, 1], [0, 1]]


@pytest.mark.parametrize("variant", ["michel", "random"])
def test_variants_are_no_main_rounds(variant: str, tmp_path: Path) -> None:
    folder = tables(tmp_path, seeds=(1,), sizes=(36,), step=36, variants=(variant,))
    assert list(main_rounds(read(folder, "runs"), read(folder, "rounds"))) == []
