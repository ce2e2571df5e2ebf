from __future__ import annotations

import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.tracking.names import LONGEST_NAME, canonical, digest, flatten, metric_name, numbers, safe_name


@given(st.text(max_size=300))
def test_every_name_becomes_one_that_mlflow_accepts(name: str):
    safe = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_\-./ ]+", safe)
    assert posixpath.normpath(safe) == safe
    assert not safe.startswith(("/", ".."))
    assert len(safe) <= LONGEST_NAME + 7


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_names_never_fall_together(first: str, second: str):
    assert (safe_name(first) == safe_name(second)) == (first == second)


@pytest.mark.parametrize("name", ["valid/bleu", "model.width", "learning_rate", "a b-c"])
def test_plain_names_stay(name: str):
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "start"), [("p@1", "p_1_"), ("x[0]", "x_0__"), ("a:b", "a_b_"), ("prüf", "pruf_"), ("a//../b", "a/_/_/b_")]
)
def test_other_characters_are_mapped_and_marked(name: str, start: str):
    assert safe_name(name) == start + digest(name)[:6]


def test_a_key_without_section_belongs_to_training():
    assert metric_name("loss") == "train/loss"
    assert metric_name("valid/loss") == "valid/loss"


def test_equal_values_have_one_text():
    assert canonical(7.0) == canonical(7) == "7"
    assert canonical({"b": [1.0, True], "a": None}) == canonical({"a": None, "b": [1, True]})
    assert canonical(2.5e-3) == "0.0025"
    assert canonical("λ=0.01") == "λ=0.01"


def test_nested_settings_are_joined_by_dots():
    nested = {"model": {"width": 8, "kept": {"encoder": [[0]]}}, "l0": {}}
    assert flatten(nested) == {"model.width": 8, "model.kept.encoder": [[0]], "l0": {}}


def test_nested_values_are_reduced():
    gates = {"encoder": [[0.0, 1.0]], "decoder_self": [[0.5], [0.5]], "decoder_cross": []}
    assert dict(numbers("gates", gates)) == {
        "gates/encoder": 0.5,
        "gates/decoder_self": 0.5,
        "gates/mean": 0.5,
        "gates/min": 0.0,
        "gates/max": 1.0,
    }
    assert dict(numbers("alpha", [[1.5], [1.0, 2.0]])) == {"alpha/mean": 1.5, "alpha/min": 1.0, "alpha/max": 2.0}
    assert dict(numbers("loss", 3)) == {"loss": 3.0}
    assert [*numbers("text", "words"), *numbers("flag", True), *numbers("nothing", None), *numbers("empty", {})] == []
