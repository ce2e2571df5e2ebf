"""A whole study in miniature: every output, nothing to do afterwards, and a change repeats only what it concerns."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from headcount.config import read
from headcount.estimate import updates
from headcount.plan import runs

ROOT = Path(__file__).parents[2]
SMOKE = ROOT / "configs" / "smoke.yaml"

PLAN = runs(read(ROOT / "config.yaml", SMOKE))
TRAINING = {run.stage for run in PLAN.values()}

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def study(smoke: Path) -> Path:
    return smoke / "results" / "smoke"


def test_every_run_left_a_complete_folder(study: Path):
    for name, run in PLAN.items():
        folder = study / "runs" / name
        record = json.loads((folder / "run.json").read_text())
        assert record["status"] == "finished"
        assert record["seconds"] > 0
        assert yaml.safe_load((folder / "run.yaml").read_text())["run"] == name
        if updates(run):
            assert (folder / "journal.jsonl").stat().st_size > 0
        assert (folder / "model.safetensors").is_file() == run.trains_a_model
        assert (folder / "heads.json").is_file() != run.trains_a_model


def test_the_table_counts_heads_as_the_settings_say(study: Path):
    table = pd.read_csv(study / "tables" / "runs.csv").set_index("run")
    assert table.loc["baseline-s1", "heads"] == 24
    assert table.loc["ticket-8-s1", "heads"] == table.loc["reinit-8-s1", "heads"] == 8
    assert table.loc["l0-encoder-0-s1", "heads_encoder"] == 8
    assert table.loc["l0-encoder-0.3-s1", "heads_encoder"] < 8
    assert table.loc["l0-encoder-0.3-s1", "heads_decoder_self"] == 8
    assert table.loc["ticket-8-s1", "parameters"] < table.loc["baseline-s1", "parameters"]
    assert table.loc["ticket-8-s1", "file_bytes"] < table.loc["baseline-s1", "file_bytes"]
    models = [name for name, run in PLAN.items() if run.trains_a_model]
    assert table.loc[models, "bleu"].between(0, 100).all()


def test_controls_keep_as_many_heads_as_the_runs_beside_them(study: Path):
    table = pd.read_csv(study / "tables" / "runs.csv").set_index("run")
    counts = ["heads_encoder", "heads_decoder_self", "heads_decoder_cross"]
    for control, run in (("scratch-all-0.3-s1", "l0-all-0.3-s1"), ("random-encoder-0.3-s1", "l0-encoder-0.3-s1")):
        assert table.loc[control, counts].tolist() == table.loc[run, counts].tolist()
    assert table.loc["named-encoder-s1", "heads"] == table.loc["unnamed-encoder-s1", "heads"]


def test_heads_are_named_measured_and_judged(study: Path):
    tables = {name: pd.read_csv(study / "tables" / f"{name}.csv") for name in ("roles", "relevance", "claims")}
    assert {"positional", "syntactic", "rare"} <= set(tables["roles"]["kind"])
    shares = tables["relevance"][tables["relevance"]["measure"] == "lrp_epsilon"]
    assert (shares.groupby(["run", "attention", "layer"])["value"].sum() - 1).abs().max() < 1e-6
    assert set(shares["run"]) == {name for name, run in PLAN.items() if run.has_all_heads}
    assert tables["claims"]["claim"].is_unique
    assert tables["claims"]["verdict"].notna().all()


def test_a_further_corpus_stands_beside_the_main_one(study: Path):
    runs_table = pd.read_csv(study / "tables" / "runs.csv").set_index("run")
    assert runs_table.loc["synthetic-verbs-lookup", "corpus"] == "synthetic-verbs"
    texts = [(study / "data" / run.corpus / "corpus" / "test.source").read_bytes() for run in PLAN.values()]
    assert len(set(texts)) == 2


def test_lotteries_and_rivals_keep_the_heads_that_were_asked_for(study: Path):
    table = pd.read_csv(study / "tables" / "runs.csv").set_index("run")
    asked = table[table["target_heads"].notna() & (table["method"] != "l0")]
    assert {"ticket", "reinit", "reinit_longer", "same_counts", "ranked", "subset"} == set(asked["method"])
    assert (asked["heads"] == asked["target_heads"]).all()
    counts = ["heads_encoder", "heads_decoder_self", "heads_decoder_cross"]
    for control in ("same_counts-8-s1", "reinit-8-s1", "reinit_longer-8-0.004-s1"):
        assert table.loc[control, counts].tolist() == table.loc["ticket-8-s1", counts].tolist()
        assert table.loc[control, "partner"] == "ticket-8-s1"
        assert (
            table.loc[control, "partner_low"]
            <= table.loc[control, "partner_delta"]
            <= table.loc[control, "partner_high"]
        )


def test_a_student_learns_what_its_teacher_writes(study: Path):
    person, taught = (study / "data" / name for name in ("synthetic-target", "synthetic-taught"))
    assert (taught / "corpus/train.source").read_bytes() == (person / "corpus/train.source").read_bytes()
    assert (taught / "corpus/test.target").read_bytes() == (person / "corpus/test.target").read_bytes()
    assert (taught / "corpus/train.target").read_bytes() != (person / "corpus/train.target").read_bytes()
    manifest = json.loads((taught / "manifest.json").read_text())
    assert manifest["teacher"]["run"] == "baseline-s1"


def test_the_language_is_learned_and_its_knee_is_sharp(study: Path):
    bleu = pd.read_csv(study / "tables" / "runs.csv").set_index("run")["bleu"]
    assert bleu["baseline-s1"] > 2 * bleu["lookup"]
    assert bleu["baseline-s1"] > 50
    assert bleu["ticket-8-s1"] < bleu["baseline-s1"] / 2


def test_removing_equals_masking_on_the_trained_models(study: Path):
    main = next(iter(PLAN.values())).corpus
    rows = json.loads((study / "speed" / f"{main}-s1.json").read_text())["rows"]
    pruned = [row for row in rows if row["max_logit_difference"] is not None]
    assert pruned
    for row in pruned:
        assert row["max_logit_difference"] < 1e-5
        assert row["identical_outputs"]


def test_a_second_invocation_runs_nothing(snakemake, smoke: Path):
    done = snakemake(smoke, "--configfile", str(SMOKE), "--cores", "2")
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout


def planned(output: str, rule: str) -> set[str]:
    """Read what a dry run would do for a rule: the runs that its messages name."""
    return set(re.findall(rf"^Job \d+: {rule}: (\S+)", output, flags=re.MULTILINE))


def test_a_changed_penalty_repeats_its_own_runs_only(snakemake, smoke: Path, tmp_path: Path):
    override = tmp_path / "penalty.yaml"
    override.write_text("l0:\n  penalties_encoder: [0.0, 0.3, 0.4]\n")
    done = snakemake(smoke, "--configfile", str(SMOKE), str(override), "--dry-run")
    assert done.returncode == 0, done.stdout[-3000:]
    trained = {rule for rule in TRAINING if planned(done.stdout, rule)}
    assert trained == {"finetune_l0"}
    for rule in ("finetune_l0", "translate", "score", "record", "roles"):
        assert planned(done.stdout, rule) == {"l0-encoder-0.4-s1"}
    assert planned(done.stdout, "analyse")
    assert not planned(done.stdout, "prepare")


def test_changed_fine_tuning_repeats_the_l0_runs_only(snakemake, smoke: Path, tmp_path: Path):
    override = tmp_path / "updates.yaml"
    override.write_text("l0:\n  updates: 61\n")
    done = snakemake(smoke, "--configfile", str(SMOKE), str(override), "--dry-run")
    tuned = {run.run for run in PLAN.values() if run.stage in ("finetune_l0", "finetune_removed")}
    heirs = {"scratch-all-0.3-s1"}  # the heads that it copies may change
    assert set().union(*(planned(done.stdout, rule) for rule in TRAINING)) == tuned | heirs
    assert planned(done.stdout, "translate") == tuned | heirs


def test_a_changed_beam_trains_nothing(snakemake, smoke: Path, tmp_path: Path):
    override = tmp_path / "beam.yaml"
    override.write_text("evaluation:\n  beam: 3\n")
    done = snakemake(smoke, "--configfile", str(SMOKE), str(override), "--dry-run")
    assert planned(done.stdout, "translate") == {run.run for run in PLAN.values() if run.trains_a_model}
    taught = {"synthetic-taught-baseline-s1"}  # what its teacher writes may change
    assert set().union(*(planned(done.stdout, rule) for rule in TRAINING)) == taught


def test_the_report_is_one_offline_page(report: Path):
    text = report.read_text(encoding="utf-8")
    for name in ("manifest", "bleu_by_heads", "surviving_heads", "gate_trajectories", "head_map", "claims_table"):
        assert name in text
    assert not re.search(r"<(script|link)[^>]+(src|href)=\"https?://", text)


def test_every_run_is_in_the_tracking_store_once(smoke: Path):
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{smoke}/results/mlflow.db")  # MLflow remembers relative addresses
    experiment = client.get_experiment_by_name("headcount/smoke")
    assert experiment is not None
    found = client.search_runs([experiment.experiment_id], max_results=1000)
    tags = [run.data.tags["headcount.run"] for run in found]
    assert len(tags) == len(set(tags))
    assert set(PLAN) <= set(tags)
    assert {run.info.status for run in found} == {"FINISHED"}
    baseline = next(run for run in found if run.data.tags["headcount.run"] == "baseline-s1")
    assert "score/bleu" in baseline.data.metrics
    steps = [point.step for point in client.get_metric_history(baseline.info.run_id, "valid/loss")]
    assert steps == sorted(set(steps))
    assert len(steps) >= 2


def headcount(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "headcount", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_pruned_model_translates_any_file_line_by_line(smoke: Path, study: Path, tmp_path: Path):
    data = study / "data" / PLAN["ticket-8-s1"].corpus
    lines = (data / "corpus" / "test.source").read_text().splitlines()[:3]
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_text("\n".join([lines[0], "", lines[1], "   ", lines[2]]))  # no newline at the end
    model, subword = study / "runs" / "ticket-8-s1", data / "subword.model"
    options = ["--model", str(model), "--subword", str(subword), "--beam", "2"]
    headcount(smoke, "translate", *options, str(text), str(out))
    found = out.read_text().splitlines()
    whole = (model / "test.hypotheses").read_text().splitlines()
    assert found == [whole[0], "", whole[1], "", whole[2]]


def test_a_finished_study_is_published_small(smoke: Path, study: Path, tmp_path: Path):
    out = tmp_path / "published"
    headcount(smoke, "publish", "--study", str(study.relative_to(smoke)), "--out", str(out))
    table = pd.read_csv(out / "runs.csv")
    for column in ("method", "seed", "heads_encoder", "heads_decoder_self", "heads_decoder_cross", "bleu"):
        assert column in table
    assert (out / "figures" / "voita2019-table1-dependency_accuracy_table.md").is_file()
    page = (out / "README.md").read_text(encoding="utf-8")
    assert "`make reproduce`" in page
    assert "lottery ticket" in page
    for picture in re.findall(r"!\[\S+\]\((\S+)\)", page):
        assert (out / picture).is_file()
    assert sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) < 4_500_000


def test_the_summary_says_where_the_results_are(smoke: Path):
    said = headcount(smoke, "summary", "--study", "results/smoke")
    assert "dense baseline" in said
    assert "results/smoke/tables/runs.csv" in said
    assert "make ui" in said
