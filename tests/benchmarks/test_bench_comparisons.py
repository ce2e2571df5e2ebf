"""What is compared: names, peers, and the parts of the comparisons that can be checked without a clock or a peer."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
from pathlib import Path

import pytest
import torch

from benchmarks import entmax_calls, gemm, training
from benchmarks.decoding import never_ending, search
from benchmarks.entmax_step import random_batch
from benchmarks.environments import HERE
from benchmarks.parts import BARS, PARTS, chosen, names
from benchmarks.removed import DENSE, HEADS_LEFT, smaller
from benchmarks.study import copy_tree
from headcount.data.batching import make_batch
from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.vocabulary import EOS
from needs import needs

WANTED = {
    *("entmax_vs_bisect50", "entmax15_vs_sort", "step_entmax_vs_softmax", "gemm_share"),
    *("train_vs_eole", "train_vs_opennmt", "train_vs_hf", "train_vs_joeynmt"),
    *("decode_vs_hf", "decode_vs_ct2", "removed_beam4", "removed_greedy", "study_wall"),
}
"""The lines that issue 3 asks for."""

TINY = {"vocabulary": 60, "layers_encoder": 6, "layers_decoder": 6, "width": 16, "feed_forward": 32}


def test_every_wanted_line_is_measured_once_and_has_a_bar():
    assert set(BARS) == WANTED
    assert set(names()) >= WANTED
    assert len(set(names())) == len(names())
    assert names()[-1] == "study_wall"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.names[0])
def test_every_part_has_a_module_and_pinned_peers(part):
    assert callable(importlib.import_module(f"benchmarks.{part.module}").compare)
    for peer in filter(None, part.lines.values()):
        pins = (HERE / "peers" / peer / "requirements.txt").read_text(encoding="utf-8").split()
        assert "torch==2.13.0" in pins
        assert all("==" in pin for pin in pins)


def test_names_choose_parts_in_the_order_of_measuring():
    parts = chosen(["decode_vs_hf", "train_vs_hf", "train_vs_eole"])
    assert [part.names for part in parts] == [("train_vs_eole", "train_vs_hf"), ("decode_vs_hf",)]
    assert chosen([]) == list(PARTS)
    with pytest.raises(UserError, match="gemm_share"):
        chosen(["gem_share"])


def test_our_training_is_a_run_of_a_plan():
    settings = training.settings()
    assert settings["stage"] == "train_baseline"
    assert settings["training"]["tokens_per_batch"] == training.TOKENS_PER_BATCH
    assert settings["model"]["width"] == 128


def test_the_journal_is_read_between_two_reports():
    entries = [
        {"update": 20, "tokens": 100, "cpu_seconds": 1.5, "loss": 3.0},
        {"update": 30, "tokens": 150, "cpu_seconds": 2.0, "loss": 2.0},
        {"update": 36, "tokens": 180, "cpu_seconds": 2.5, "loss": 2.0},
        {"update": 36, "tokens": 180, "cpu_seconds": 9.0, "valid/bleu": 1.0},
    ]
    result = training.read_journal("\n".join(map(json.dumps, entries)), 20, 36)
    assert result == {"tokens": 80, "cpu_seconds": 1.0, "updates": 16}


def test_padding_is_no_work():
    pair = [5, 6, 7, EOS], [8, EOS]
    other = [5, EOS], [8, 9, 10, 11, EOS]
    alone = [make_batch(Encoded.from_lists([source], [target]), [0]) for source, target in (pair, other)]
    together = make_batch(Encoded.from_lists(*map(list, zip(pair, other, strict=True))), [0, 1])
    assert gemm.forward_gflop(together) == pytest.approx(sum(map(gemm.forward_gflop, alone)))


def test_no_hypothesis_ends_before_its_last_step():
    config = dataclasses.replace(DENSE, **TINY, heads=8)
    for beam in (1, 4):
        found = search(never_ending(config), [[5, 6, EOS], [7, EOS], [8, 9, 10, EOS]], 6, beam)
        assert [len(pieces) for pieces in found] == [5, 5, 5]


def test_three_quarters_of_the_heads_are_removed():
    assert [sum(left) for left in HEADS_LEFT.values()] == [12, 12, 12]
    config = dataclasses.replace(DENSE, **TINY, heads=8)
    pruned = smaller(never_ending(config))
    assert {kind: tuple(map(len, rows)) for kind, rows in pruned.config.kept.items()} == HEADS_LEFT


@pytest.mark.parametrize("name", entmax_calls.FUNCTIONS)
def test_both_sides_compute_the_same_function(name: str):
    mine, theirs, _ = entmax_calls.FUNCTIONS[name]
    for call in (mine, theirs):
        assert max(entmax_calls.errors(call, (2, 3, 4, 5), name == "entmax_vs_bisect50")) < 1e-4


def test_the_step_has_no_padding():
    batch = random_batch()
    assert batch.source.shape == batch.target_output.shape == (32, 32)
    assert batch.target_tokens == 1024
    assert bool(torch.all(batch.target_output[:, -1] == EOS))


def test_the_copy_has_what_git_would_track(tmp_path: Path):
    (git,) = needs("git")
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    tree.mkdir()
    subprocess.run([git, "init", "--quiet", tree], check=True)
    for name in ("tracked", "deleted", "new", "results/old"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(name)
    (tree / ".gitignore").write_text("results/\n")
    subprocess.run([git, "add", "tracked", "deleted"], cwd=tree, check=True)
    (tree / "deleted").unlink()
    copy_tree(tree, copy)
    assert sorted(path.name for path in copy.iterdir()) == [".gitignore", "new", "tracked"]
