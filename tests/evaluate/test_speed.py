from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from small_models import SENTENCES, model

from headcount.errors import UserError
from headcount.evaluate.macs import ceiling
from headcount.evaluate.speed import structure, time_decoding
from headcount.model.decode import translate

BEAMS, BATCHES = (2, 1), (1, 3)
LIMITS: dict[str, Any] = {"length_penalty": 0.6, "length_ratio": 1.0, "length_extra": 3}
SEARCH: dict[str, Any] = {"repeats": 2, "beams": BEAMS, "batches": BATCHES, **LIMITS}
MODELS = {
    "dense": model(),
    "pruned": model(2, encoder=[[2]], decoder_cross=[[]]),
    "twin": model(3, encoder=[[0]], decoder_cross=[[]]),
    "narrow": model(4, width=4),
}


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, int, int], dict[str, Any]]:
    threads = torch.get_num_threads()
    found = time_decoding(MODELS.items(), SENTENCES, **SEARCH)
    assert torch.get_num_threads() == threads
    keys = [(row["run"], row["beam"], row["sentences_per_batch"]) for row in found]
    assert keys == [(run, beam, batch) for beam in BEAMS for batch in BATCHES for run in MODELS]
    return dict(zip(keys, found, strict=True))


def test_every_condition_has_its_own_times(rows: dict[tuple[str, int, int], dict[str, Any]]) -> None:
    for row in rows.values():
        assert 0 < row["low"] <= row["seconds_per_sentence"] <= row["high"]
        assert (row["speedup_vs_dense"] == 1) == (row["run"] == "dense")
    assert len({row["seconds_per_sentence"] for (run, *_), row in rows.items() if run == "dense"}) == 4


def test_models_of_one_structure_are_timed_once(rows: dict[tuple[str, int, int], dict[str, Any]]) -> None:
    shared = ("seconds_per_sentence", "low", "high", "speedup_vs_dense", "speedup_vs_masked", "ceiling")
    for beam in BEAMS:
        one, other = (rows[run, beam, 3] for run in ("pruned", "twin"))
        assert one["timed_run"] == other["timed_run"] == "pruned"
        assert [one[name] for name in shared] == [other[name] for name in shared]
        assert rows["narrow", beam, 3]["timed_run"] == "narrow"


def test_removed_is_compared_with_masked_once(rows: dict[tuple[str, int, int], dict[str, Any]]) -> None:
    for run in ("dense", "narrow"):
        row = rows[run, 2, 1]
        assert all(row[name] is None for name in ("speedup_vs_masked", "max_logit_difference", "identical_outputs"))
        assert row["heads"] == 12
    for run in ("pruned", "twin"):
        assert rows[run, 2, 1]["heads"] == 5
        assert rows[run, 2, 1]["identical_outputs"]
        assert rows[run, 2, 1]["masked_seconds_per_sentence"] > 0
        differences = {rows[run, beam, batch]["max_logit_difference"] for beam in BEAMS for batch in BATCHES}
        assert len(differences) == 1
        assert max(differences) < 1e-5


def test_the_ceiling_is_that_of_the_dense_translations(rows: dict[tuple[str, int, int], dict[str, Any]]) -> None:
    dense, pruned = MODELS["dense"], MODELS["pruned"]
    for beam in BEAMS:
        options: dict[str, Any] = {"beam": beam, "length_penalty": 0.6, "max_length": (1.0, 3)}
        outputs = translate(dense, SENTENCES[:3], sentences_per_batch=1, **options)
        lengths = [(len(source), len(output) + 1) for source, output in zip(SENTENCES[:3], outputs, strict=True)]
        expected = ceiling(dense.config, pruned.config, lengths, beam)
        assert rows["pruned", beam, 1]["ceiling"] == pytest.approx(expected)
        assert rows["dense", beam, 1]["ceiling"] == 1


def test_the_dense_and_the_smallest_model_have_a_profile(rows: dict[tuple[str, int, int], dict[str, Any]]) -> None:
    for (run, *_), row in rows.items():
        assert (row["profile"] is not None) == (run in ("dense", "pruned"))
    row = rows["dense", 1, 1]
    assert sum(row["profile"].values()) >= row["seconds_per_sentence"] * (1 - 1e-9)


def test_structures_differ_by_what_takes_time() -> None:
    config = model(encoder=[[2]]).config
    assert structure(config) == structure(replace(config, dropout=0.3, kept={"encoder": [[0]]}))
    for other in ({"normalisers": {"encoder": "entmax15"}}, {"feed_forward": 8}, {"kept": {"encoder": [[0, 1]]}}):
        assert structure(config) != structure(replace(config, **other))


def test_nothing_to_decode_is_named() -> None:
    with pytest.raises(UserError, match="no sentence"):
        time_decoding(MODELS.items(), [[]], **SEARCH)
