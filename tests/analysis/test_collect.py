from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from fake_study import kept_heads, settings, write_study

from headcount.analysis import TABLES
from headcount.analysis.runs import collect
from headcount.errors import UserError
from headcount.heads import count, total
from headcount.plan import runs as plan_runs


@pytest.fixture(scope="module")
def tables(study: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    out = tmp_path_factory.mktemp("tables")
    collect(study[0], out, study[1])
    return {name: pd.read_csv(out / f"{name}.csv") for name in TABLES}


def test_every_run_has_one_row_in_the_order_of_the_plan(
    study: tuple[Path, list[str]], tables: dict[str, pd.DataFrame]
) -> None:
    assert list(tables["runs"]["run"]) == [*study[1], "lookup"]


def test_a_row_repeats_what_the_run_folder_says(study: tuple[Path, list[str]], tables: dict[str, pd.DataFrame]) -> None:
    plan = plan_runs(settings(seeds=(1, 2)))
    for row in tables["runs"][tables["runs"]["method"] != "lookup"].to_dict("records"):
        run = plan[row["run"]]
        kept = kept_heads(settings(), run)
        assert {kind: row[f"heads_{kind}"] for kind in kept} == count(kept)
        assert row["heads"] == total(kept)
        assert (row["method"], row["seed"]) == (run.method, run.seed)
        score = study[0] / "runs" / run.run / "score.json"
        assert score.is_file() == math.isfinite(row["bleu"])
        if score.is_file():
            assert row["bleu"] == pytest.approx(json.loads(score.read_text())["bleu"])
            assert row["file_bytes"] == (score.parent / "model.safetensors").stat().st_size


def test_columns_that_readers_rely_on(tables: dict[str, pd.DataFrame]) -> None:
    committed = (
        "run method seed scope setting heads_encoder heads_decoder_self heads_decoder_cross heads bleu bleu_low "
        "bleu_high bleu_delta p_value chrf bleu_without_near_duplicates parameters file_bytes "
        "decode_seconds_per_sentence speedup train_seconds tokens"
    )
    assert set(committed.split()) <= set(tables["runs"].columns)
    assert tuple(tables["curves"].columns) == ("run", "corpus", "update", "metric", "value")
    assert tuple(tables["gates"].columns) == (
        *("run", "corpus", "update"),
        *("attention", "layer", "head", "open_probability"),
    )
    assert tuple(tables["heads"].columns) == ("run", "corpus", "method", "attention", "layer", "head", "kept")


def test_heads_are_counted_once(tables: dict[str, pd.DataFrame]) -> None:
    kept = tables["heads"].groupby("run")["kept"].agg(["sum", "size"])
    expected = tables["runs"].set_index("run")["heads"].drop("lookup")
    assert (kept["size"] == 72).all()
    assert kept["sum"].sort_index().eq(expected.sort_index()).all()


def test_every_corpus_has_its_own_runs_heads_and_lookup(tmp_path: Path) -> None:
    other = {"data": {"target_language": "fr"}, "methods": ["l0"], "seeds": [1], "model": {"layers_encoder": 2}}
    ids = write_study(tmp_path / "study", settings(methods=("l0",), seeds=(1, 2), corpora={"en-fr": other}))
    collect(tmp_path / "study", tmp_path / "tables", ids)
    runs = pd.read_csv(tmp_path / "tables" / "runs.csv")
    assert list(runs["corpus"].drop_duplicates()) == ["en-de", "en-fr"]
    assert runs.groupby("corpus")["run"].apply(lambda names: names.iloc[-1]).to_dict() == {
        "en-de": "lookup",
        "en-fr": "en-fr-lookup",
    }
    assert set(runs.loc[runs["corpus"] == "en-fr", "seed"].dropna()) == {1}
    assert runs.loc[runs["method"] == "l0", "parent"].isin(["baseline-s1", "baseline-s2", "en-fr-baseline-s1"]).all()
    heads = pd.read_csv(tmp_path / "tables" / "heads.csv")
    assert heads.groupby("run").size().loc[["baseline-s1", "en-fr-baseline-s1"]].tolist() == [72, 64]


def test_a_smaller_dense_model_has_heads_of_its_own(tmp_path: Path) -> None:
    smaller = {"shallow": {"layers_decoder": 1}}
    ids = write_study(tmp_path / "study", settings(methods=("smaller", "l0"), smaller=smaller))
    collect(tmp_path / "study", tmp_path / "tables", ids)
    heads = pd.read_csv(tmp_path / "tables" / "heads.csv").groupby("run")["kept"].agg(["sum", "size"])
    assert heads.loc["shallow-s1"].tolist() == [24 + 8 + 8] * 2
    assert heads.loc["baseline-s1"].tolist() == [72, 72]
    assert (heads.drop("shallow-s1")["size"] == 72).all()


def test_every_way_to_few_heads_says_how_many_it_was_to_keep(tmp_path: Path) -> None:
    changes = {
        "methods": ("l0", "lottery", "ranked", "subset"),
        "l0": {"target_heads_all": [18], "variants": {"long": {"updates": 300}}, "penalties_encoder": []},
        "lottery": {
            "heads_per_round": 9,
            "tickets": [18],
            "controls": {"reinit": "all", "same_counts": "all", "reinit_longer": "all"},
            "longer_learning_rates": [0.001],
            "variants": {"michel": {"scorer": "michel"}},
        },
        "ranked": {"heads": [18]},
        "subset": {"heads": [18]},
    }
    ids = write_study(tmp_path / "study", settings(**changes))
    collect(tmp_path / "study", tmp_path / "tables", ids)
    runs = pd.read_csv(tmp_path / "tables" / "runs.csv").fillna({"variant": ""})
    asked = runs[runs["target_heads"] == 18]
    assert (asked["heads"] == 18).all()
    assert set(asked["method"]) == {"l0", "ticket", "reinit", "reinit_longer", "same_counts", "ranked", "subset"}
    assert set(asked.loc[asked["method"] == "ticket", "variant"]) == {"", "michel"}
    assert runs.loc[runs["method"] == "round", "target_heads"].isna().all()
    rounds = pd.read_csv(tmp_path / "tables" / "rounds.csv", keep_default_na=False)
    assert set(rounds["variant"]) == {"", "michel"}
    assert (rounds.groupby("run")["removed"].sum() == 9).all()
    assert (rounds.groupby("run").size() == 72 - 9 * (rounds.groupby("run")["round"].first() - 1)).all()


def test_curves_have_one_value_each_and_flag_what_was_no_number(tables: dict[str, pd.DataFrame]) -> None:
    curves = tables["curves"]
    assert not curves.duplicated(["run", "update", "metric"]).any()
    missing = curves[curves["value"].isna()]
    assert set(missing["metric"]) == {"loss"}
    assert "gates" not in set(curves["metric"])
    tokens = curves[(curves["run"] == "baseline-s1") & (curves["metric"] == "tokens")]
    assert tokens["value"].max() == 800 * 1300


def test_gates_and_alpha_name_each_head(tables: dict[str, pd.DataFrame]) -> None:
    gates = tables["gates"]
    encoder = gates[gates["run"] == "l0-encoder-0.01-s1"]
    assert set(encoder["attention"]) == {"encoder"}
    assert len(encoder[encoder["update"] == 250]) == 24
    assert len(gates[(gates["run"] == "l0-all-0.01-s1") & (gates["update"] == 250)]) == 72
    assert gates["open_probability"].between(0, 1).all()
    assert tables["alpha"]["alpha"].between(1, 2).all()
    assert set(tables["alpha"]["run"]) == {"entmax_alpha-s1", "entmax_alpha-s2"}


def test_histograms_count_every_sentence_once(tables: dict[str, pd.DataFrame]) -> None:
    sums = tables["density"].groupby(["run", "attention", "layer", "head"])["sentences"].sum()
    assert (sums == 200).all()
    assert tables["density"]["low"].min() == 0
    assert tables["density"]["high"].max() == pytest.approx(1)
    assert not tables["observations"]["measure"].str.startswith("density_bin").any()


def test_equal_folders_give_equal_bytes(study: tuple[Path, list[str]], tmp_path: Path) -> None:
    for name in ("one", "two"):
        collect(study[0], tmp_path / name, study[1])
    for name in TABLES:
        assert (tmp_path / "one" / f"{name}.csv").read_bytes() == (tmp_path / "two" / f"{name}.csv").read_bytes()


def test_unfinished_absent_and_leftover_runs_stay_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ids = write_study(tmp_path / "study", settings(methods=("l0",)))
    runs = tmp_path / "study" / "runs"
    (runs / ids[1] / "run.json").write_text(json.dumps({"status": "running"}))
    shutil.rmtree(runs / ids[2])
    collect(tmp_path / "study", tmp_path / "tables", ids[:4])
    assert list(pd.read_csv(tmp_path / "tables" / "runs.csv")["run"]) == [ids[0], ids[3], "lookup"]
    assert f"{ids[1]} is left out of the tables: running" in caplog.text
    assert f"{ids[2]} is left out of the tables: absent" in caplog.text


def test_a_study_without_pruning_has_empty_tables(tmp_path: Path) -> None:
    ids = write_study(tmp_path / "study", settings(methods=()))
    collect(tmp_path / "study", tmp_path / "tables", ids)
    assert pd.read_csv(tmp_path / "tables" / "gates.csv").empty
    assert pd.read_csv(tmp_path / "tables" / "alpha.csv").empty


def test_faults_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none of the 1 runs of the study is finished"):
        collect(tmp_path, tmp_path / "tables", ["baseline-s1"])
    ids = write_study(tmp_path / "study", settings(methods=()))
    folder = tmp_path / "study" / "runs" / ids[0]
    (folder / "score.json").write_text("{half")
    with pytest.raises(UserError, match=r"score\.json: not valid JSON"):
        collect(tmp_path / "study", tmp_path / "tables", ids)
    (folder / "run.yaml").unlink()
    with pytest.raises(UserError, match=r"run\.yaml: no such file"):
        collect(tmp_path / "study", tmp_path / "tables", ids)


def test_analysis_needs_no_torch() -> None:
    program = "import sys, headcount.analysis.runs; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
