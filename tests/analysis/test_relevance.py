from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from headcount.analysis.relevance import AGREEMENT, RELEVANCE, relevance
from headcount.analysis.study import FinishedRun
from headcount.observe.observation import Observation

HEADS = [("encoder", 0, 0), ("encoder", 0, 1), ("encoder", 0, 2), ("encoder", 1, 1), ("decoder_cross", 0, 0)]
VALUES = {
    "lrp_epsilon": [0.2, 0.3, 0.5, 1.0, 1.0],
    "lrp_alpha_beta": [0.1, 0.2, 0.7, 1.0, 1.0],
    "leave_one_out": [0.3, 0.2, 0.1, 0.0, 0.4],
}


def make_run(folder, name="baseline-s1"):
    folder = folder / name
    folder.mkdir()
    rows = [
        (*head, measure, value, value - 0.05, value + 0.05)
        for measure, values in VALUES.items()
        for head, value in zip(HEADS, values, strict=True)
    ]
    columns = ["attention", "layer", "head", "measure", "value", "low", "high"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "relevance.csv", index=False)
    return FinishedRun(folder, {"run": name, "corpus": "de-en", "method": "baseline"}, {})


def observe(monkeypatch, run, confidence):
    (run.folder / "observation.npz").touch()
    heads = dict(zip(("attention", "layer", "head"), map(np.array, zip(*HEADS, strict=True)), strict=True))
    found = {run.folder / "observation.npz": SimpleNamespace(**heads, confidence=np.array(confidence))}
    monkeypatch.setattr(Observation, "load", found.__getitem__)


def spearman(tables):
    table = tables["agreement"]
    assert list(table.columns) == list(AGREEMENT)
    keys = ["attention", "layer", "measure_a", "measure_b"]
    assert not table.duplicated(["run", *keys]).any()
    return table.set_index(keys)


def test_the_table_names_run_corpus_and_method(tmp_path):
    first, second = make_run(tmp_path), make_run(tmp_path, "entmax15-s1")
    table = relevance([first, second])["relevance"]
    assert list(table.columns) == list(RELEVANCE)
    assert table["run"].unique().tolist() == ["baseline-s1", "entmax15-s1"]
    assert set(table["corpus"]) == {"de-en"}
    assert len(table) == 2 * len(VALUES) * len(HEADS)


def test_measures_are_compared_within_layers_and_over_all(tmp_path):
    run = make_run(tmp_path)
    found = spearman(relevance([run]))
    assert found["spearman"]["encoder", 0, "lrp_alpha_beta", "lrp_epsilon"] == pytest.approx(1.0)
    assert found["spearman"]["encoder", 0, "leave_one_out", "lrp_epsilon"] == pytest.approx(-1.0)
    assert found["heads"]["encoder", 0, "leave_one_out", "lrp_epsilon"] == 3
    assert found["heads"]["encoder", "all", "leave_one_out", "lrp_epsilon"] == 4
    layers = {(kind, layer) for kind, layer, *_ in found.index}
    assert layers == {("encoder", 0), ("encoder", "all")}  # a single head has no rank


def test_confidence_is_compared_where_it_was_observed(tmp_path, monkeypatch):
    run = make_run(tmp_path)
    assert "confidence" not in spearman(relevance([run])).index.get_level_values("measure_b")
    observe(monkeypatch, run, [0.4, np.nan, 0.2, 0.9, 0.5])
    found = spearman(relevance([run]))
    for measure, expected in {"lrp_epsilon": -1.0, "lrp_alpha_beta": -1.0, "leave_one_out": 1.0}.items():
        assert found["spearman"]["encoder", 0, measure, "confidence"] == pytest.approx(expected)
        assert found["heads"]["encoder", 0, measure, "confidence"] == 2
    assert "confidence" not in found.index.get_level_values("measure_a")


def test_equal_values_share_their_rank(tmp_path, monkeypatch):
    run = make_run(tmp_path)
    observe(monkeypatch, run, [0.1, 0.1, 0.3, 0.2, 0.5])
    ranks, ties = np.array([1.0, 2.0, 3.0]), np.array([1.5, 1.5, 3.0])
    expected = np.corrcoef(ranks, ties)[0, 1]
    assert spearman(relevance([run]))["spearman"]["encoder", 0, "lrp_epsilon", "confidence"] == pytest.approx(expected)


def test_runs_without_the_analysis_are_left_out(tmp_path):
    (tmp_path / "l0").mkdir()
    tables = relevance([FinishedRun(tmp_path / "l0", {"run": "l0", "corpus": "de-en", "method": "l0"}, {})])
    assert list(tables["relevance"].columns) == list(RELEVANCE)
    assert list(tables["agreement"].columns) == list(AGREEMENT)
    assert tables["relevance"].empty
    assert tables["agreement"].empty
