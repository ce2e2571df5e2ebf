from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from pruned_runs import gated, run
from role_tables import write

from headcount.figures.groups import (
    corpora,
    differences,
    groups,
    in_order,
    main_corpus,
    note,
    of_main,
    over_seeds,
    paper_numbers,
    read,
    tried,
)


def test_seeds_are_joined_and_methods_ordered(tables_of: Callable[..., Path]) -> None:
    found = groups(read(tables_of(seeds=(1, 2)), "runs"))
    assert [group.method for group in found][:3] == ["baseline", "entmax15", "entmax_alpha"]
    assert all(len(group.rows) == 2 for group in found if group.method != "lookup")
    penalties = [group.penalty for group in found if group.scope == "encoder"]
    assert penalties == sorted(penalties)
    heads = [group.value("heads") for group in found if group.method == "ticket"]
    assert [value.centre for value in heads if value] == [36, 18]
    assert in_order(["reinit", "mine", "baseline", "lookup"]) == ["baseline", "mine", "reinit", "lookup"]


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


def test_corpora_and_what_was_pruned_are_kept_apart() -> None:
    entmax = {"parent_normaliser": "entmax15"}
    runs = pd.DataFrame(
        [
            run("baseline-s1", "baseline"),
            {**gated("encoder", 0.01, (4, 8, 8), 19), **entmax, "run": "entmax15-l0-encoder-0.01-s1"},
            gated("encoder", 0.01, (4, 8, 8), 19),
            run("lookup", "lookup", parent_normaliser=None, seed=None),
            run("a-baseline-s1", "baseline", corpus="a"),
            gated("encoder", 0.01, (2, 8, 8), 18, corpus="a"),
        ]
    )
    assert (corpora(runs), main_corpus(runs)) == (["en-de", "a"], "en-de")
    teacher = runs[(runs["corpus"] == "a") | (runs["method"] == "baseline")]
    assert main_corpus(teacher) == "a"  # where heads were removed
    assert main_corpus(runs[runs["method"] == "baseline"]) == "en-de"
    found = groups(runs)
    assert [(group.corpus, group.method, group.normaliser) for group in found] == [
        ("en-de", "baseline", "softmax"),
        ("en-de", "l0", "softmax"),
        ("en-de", "l0", "entmax15"),
        ("en-de", "lookup", "softmax"),
        ("a", "baseline", "softmax"),
        ("a", "l0", "softmax"),
    ]
    assert all(len(group.rows) == 1 for group in found)
    assert of_main(runs, runs)["corpus"].unique().tolist() == ["en-de"]
    assert (note(runs, "a"), note(of_main(runs, runs), "en-de")) == (", a", "")


def test_numbers_of_heads_stand_behind_penalties() -> None:
    asked = {"scope": "encoder", "setting": "target 6 heads", "target_heads": 6}
    runs = pd.DataFrame([run("l0-encoder-6h-s1", "l0", (6, 8, 8), **asked), gated("encoder", 0.1, (2, 8, 8), 12)])
    assert [group.label for group in groups(runs)] == ["λ = 0.1", "target 6 heads"]
    assert groups(runs)[1].first_run == "l0-encoder-6h-s1"


def test_variants_stand_behind_the_main_settings_and_only_where_they_are_asked_for() -> None:
    ticket: dict[str, object] = {"scope": "all", "setting": "12 of 24 heads", "target_heads": 12}
    tickets = [run(f"{name}ticket-s1", "ticket", variant=name, **ticket) for name in ("random", "", "michel")]
    runs = pd.DataFrame([*tickets, gated("all", 0.1, (2, 8, 8), 12, variant=None)])
    assert [(group.method, group.variant) for group in tried(runs)] == [
        ("l0", ""),
        ("ticket", ""),
        ("ticket", "michel"),
        ("ticket", "random"),
    ]
    assert [group.first_run for group in groups(runs)] == ["l0-all-0.1-s1", "ticket-s1"]
    assert [group.target_heads for group in groups(runs)] == [None, 12]


def test_differences_are_those_of_the_seeds_that_both_have() -> None:
    rows = [("ticket", 1, 20.0), ("ticket", 2, 21.0), ("ticket", 3, 22.0), ("reinit", 2, 20.5), ("reinit", 3, 19.0)]
    runs = pd.DataFrame([run(f"{method}-s{seed}", method, bleu=bleu, seed=seed) for method, seed, bleu in rows])
    ticket, reinit = groups(runs)
    found = differences(ticket, reinit)
    assert found.to_dict() == {2: 0.5, 3: 3.0}
    value = over_seeds(found)
    assert value is not None
    assert (value.centre, value.seeds) == (1.75, 2)
    assert over_seeds(found.iloc[:0]) is None


def test_texts_that_look_like_numbers_or_gaps_stay_texts(tmp_path: Path) -> None:
    write(tmp_path, maps=pd.DataFrame({"run": ["a", "b"], "role": ["-1", "+1"], "query_token": ["null", "NA"]}))
    table = read(tmp_path, "maps")
    assert table["role"].tolist() == ["-1", "+1"]
    assert table["query_token"].tolist() == ["null", "NA"]
    write(tmp_path, runs=pd.DataFrame({"run": ["a", "b"], "partner": ["1e3", ""], "timed_run": ["", ""]}))
    assert read(tmp_path, "runs")[["partner", "timed_run"]].to_numpy().tolist() == [["1e3", ""], ["", ""]]


def test_the_papers_numbers_may_be_missing(tmp_path: Path) -> None:
    assert paper_numbers(tmp_path, "voita2019", "table1").empty
    rows = [("voita2019", "table1", "WMT", "nsubj", 45), ("voita2019", "figure1", "WMT", 2, 3)]
    write(tmp_path, paper_numbers=pd.DataFrame(rows, columns=["paper", "item", "series", "x", "y"]))
    assert paper_numbers(tmp_path, "voita2019", "table1")["y"].tolist() == [45]


def test_a_compressed_table_reads_as_the_plain_one(tmp_path: Path) -> None:
    table = pd.DataFrame({"run": ["a", "b"], "corpus": ["x", "x"], "role": ["-1", "NA"], "value": [0.5, None]})
    table.to_csv(tmp_path / "plain.csv", index=False)
    table.to_csv(tmp_path / "packed.csv.gz", index=False)
    pd.testing.assert_frame_equal(read(tmp_path, "plain"), read(tmp_path, "packed"))
