"""Counts and thresholds to named heads; relations from the trees; links and maps as tidy rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from small_observation import CRITERIA, LINKS, finished, observation

from headcount.analysis.observed import MAPS, MEASURES, observed
from headcount.analysis.roles import COLUMNS, named_heads, role_rows, roles_table
from headcount.errors import UserError
from headcount.settings import Roles
from headcount.stages.roles import roles


def write_roles(run) -> None:
    (run.folder / "roles.json").write_text(
        json.dumps({"criteria": CRITERIA, "relations": ["nsubj", "dobj"], "heads": []})
    )


def test_every_link_with_cases_has_a_row_and_thresholds_are_inclusive():
    rows = role_rows(observation(), CRITERIA)
    assert len(rows) == 2 * len(LINKS)  # the cross head has no cases
    found = rows.set_index(["layer", "role", "labels"])
    assert found.loc[(0, "-1", "gold"), "value"] == 0.9
    assert found.loc[(0, "nsubj:to_dependent", "gold"), ["hits", "cases", "baseline"]].tolist() == [50, 100, 0.4]
    named = {key: row.named for key, row in found.iterrows() if row.named}
    assert set(named) == {
        (0, "-1", "gold"),
        (0, "nsubj:to_dependent", "gold"),  # 40 % and 10 points, absolute
        (0, "rare-2", "gold"),
        (1, "+1", "gold"),
        (1, "-1", "shuffled"),
    }


def test_named_heads_list_their_roles_and_shuffled_labels_name_none():
    assert named_heads(observation(), CRITERIA) == [
        {"attention": "encoder", "layer": 0, "head": 2, "roles": ["-1", "nsubj:to_dependent", "rare"]},
        {"attention": "encoder", "layer": 1, "head": 0, "roles": ["+1"]},
    ]
    strict = {**CRITERIA, "positional_share": 0.99, "syntactic_points": 10.1, "rare_share": 0.51}
    assert [head["roles"] for head in named_heads(observation(), strict)] == [["+1"]]


def test_the_verb_writes_what_the_table_is_made_with(tmp_path: Path):
    run = finished(tmp_path)
    chosen = Roles(positional_share=0.95, syntactic_points=10.0, rare_share=0.5)
    roles(run.folder / "observation.npz", run.folder / "roles.json", settings=chosen)
    written = json.loads((run.folder / "roles.json").read_text())
    assert [head["layer"] for head in written["heads"]] == [0, 1]
    assert written["relations"] == ["nsubj"]
    table = roles_table([run])
    gold = table[(table["labels"] == "gold") & (table["named"] == 1)]
    listed = {(head["layer"], role) for head in written["heads"] for role in head["roles"]}
    assert {(row.layer, row.role.replace("rare-2", "rare")) for row in gold.itertuples()} == listed
    assert (0, "-1") not in listed


def test_the_table_has_the_runs_whose_heads_were_named(tmp_path: Path):
    named, unnamed = finished(tmp_path, "a"), finished(tmp_path, "b")
    write_roles(named)
    table = roles_table([named, unnamed])
    assert tuple(table.columns) == COLUMNS
    assert set(table["run"]) == {"a"}
    assert set(table["corpus"]) == {"en-de"}
    assert tuple(roles_table([unnamed]).columns) == COLUMNS
    (named.folder / "roles.json").write_text("{")
    with pytest.raises(UserError, match=r"roles\.json"):
        roles_table([named])


def test_mean_weights_and_the_spread_of_density_are_rows_of_links(tmp_path: Path):
    links = observed([finished(tmp_path)])["links"]
    assert tuple(links.columns) == MEASURES
    rows = links.set_index(["attention", "layer", "head", "measure"])["value"]
    assert rows.to_dict() == {
        ("encoder", 0, 2, "offset_-1"): 0.25,
        ("encoder", 1, 0, "offset_-1"): 0.5,
        ("encoder", 0, 2, "merging"): 0.75,
        ("encoder", 0, 2, "density_sd"): 0.1,
        ("encoder", 1, 0, "density_sd"): 0.2,
        ("decoder_cross", 0, 1, "density_sd"): 0.3,
    }


def test_maps_are_one_row_a_weight_of_unpruned_models(tmp_path: Path):
    pruned = finished(tmp_path, "c", parents=["a"])
    maps = observed([pruned, finished(tmp_path, "a")])["maps"]
    assert tuple(maps.columns) == MAPS
    assert set(maps["run"]) == {"a"}
    rows = maps.to_dict("records")
    assert len(rows) == 4 + 3 + 2
    assert {key: rows[1][key] for key in ("attention", "layer", "head", "sentence", "query", "key", "weight")} == {
        "attention": "encoder",
        "layer": 0,
        "head": 2,
        "sentence": 7,
        "query": 0,
        "key": 1,
        "weight": 0.8765,
    }
    assert (rows[-1]["query_token"], rows[-1]["key_token"], rows[-1]["attention"]) == ("<s>", "</s>", "decoder_cross")


def test_maps_of_other_methods_are_those_of_the_first_seed(tmp_path: Path):
    runs = [
        finished(tmp_path, f"{corpus}-{method}-{seed}", corpus=corpus, method=method, seed=seed)
        for corpus, first in (("en-de", 1), ("en-fr", 3))
        for method in ("baseline", "entmax15")
        for seed in (first + 1, first)
    ]
    shown = ["en-de-baseline-2", "en-de-baseline-1", "en-de-entmax15-1"]
    assert observed(runs)["maps"]["run"].unique().tolist() == [
        *shown,
        "en-fr-baseline-4",
        "en-fr-baseline-3",
        "en-fr-entmax15-3",
    ]


def test_no_observed_run_gives_empty_tables_with_their_columns():
    tables = observed([])
    assert {name: len(table) for name, table in tables.items()} == dict.fromkeys(tables, 0)
    assert tuple(tables["maps"].columns) == MAPS
    assert isinstance(roles_table([]), pd.DataFrame)


def test_naming_heads_needs_no_torch():
    program = "import sys, headcount.stages.roles; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
