from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from headcount.claims.numbers import load, papers, table
from headcount.errors import UserError

BLOCK: dict[str, Any] = {
    "item": "table1",
    "what": "w",
    "unit": "BLEU",
    "source": "text",
    "trust": "high",
    "x": [1, "two"],
    "series": {"a": [0.5, None], "b": [1, 2]},
}
CLAIM: dict[str, Any] = {
    "claim": "a-claim",
    "locator": "table 1",
    "statement": "s",
    "paper_value": "1",
    "test": "t",
    "corpus": "main",
    "source": "text",
    "trust": "high",
}


def written(folder: Path, **changes: Any) -> Path:
    content = {"paper": "p2020", "numbers": [BLOCK], "claims": [CLAIM], **changes}
    (folder / "p2020.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder


def faults(folder: Path) -> list[str]:
    with pytest.raises(UserError) as caught:
        load(folder, "p2020")
    prefix = f"{folder / 'p2020.yaml'}: "
    lines = str(caught.value).splitlines()
    assert all(line.startswith(prefix) for line in lines)
    return [line.removeprefix(prefix) for line in lines]


def test_one_number_is_one_row_and_null_is_none(tmp_path: Path) -> None:
    rows = table([load(written(tmp_path), "p2020")])
    assert rows[["series", "x", "y"]].to_numpy().tolist() == [["a", 1, 0.5], ["b", 1, 1.0], ["b", "two", 2.0]]
    assert set(rows["source"]) == {"text (high)"}
    assert list(table([]).columns) == list(rows.columns)


def test_papers_are_the_files_of_the_folder(tmp_path: Path) -> None:
    assert papers(written(tmp_path)) == ("p2020",)
    with pytest.raises(UserError, match=r"p2021\.yaml: no such paper; did you mean 'p2020'\?; allowed: p2020"):
        load(tmp_path, "p2021")


def test_every_fault_is_told_at_once_with_the_nearest_name(tmp_path: Path) -> None:
    bad_claim = {key: value for key, value in CLAIM.items() if key != "locator"} | {"locater": "x", "corpus": "mein"}
    bad_block = {**BLOCK, "unti": "x", "series": {"a": [1]}}
    said = "\n".join(faults(written(tmp_path, numbers=[bad_block], claims=[bad_claim], clams=[])))
    assert "clams: unknown key; did you mean 'claims'?" in said
    assert "numbers.table1: unti: unknown key; did you mean 'unit'?" in said
    assert "claims.a-claim: locater: unknown key; did you mean 'locator'?" in said
    assert "claims.a-claim: corpus: 'mein' is not allowed; did you mean 'main'?" in said
    assert "claims.a-claim: locator" in said


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"numbers": [{**BLOCK, "series": {"a": [1]}}]}, "numbers.table1: series a: 1 numbers for 2 x"),
        ({"numbers": [BLOCK, BLOCK]}, "table1 a: stands there twice"),
        ({"claims": [CLAIM, CLAIM]}, "a-claim: stands there twice"),
        ({"claims": [{**CLAIM, "claim": "A claim"}]}, "claims.A claim: claim: 'A claim'"),
        ({"paper": "other"}, "paper: 'other' is not the name of the file"),
        ({"claims": {"a": 1}}, "claims: expected a list, found dict"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], fault: str, tmp_path: Path) -> None:
    assert any(line.startswith(fault) for line in faults(written(tmp_path, **changes)))


@pytest.mark.parametrize(("text", "fault"), [("a: [", "not valid YAML"), ("- a", "expected the keys paper")])
def test_what_is_no_mapping_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "p2020.yaml").write_text(text, encoding="utf-8")
    assert faults(tmp_path)[0].startswith(fault)


def test_a_missing_section_is_named(tmp_path: Path) -> None:
    (tmp_path / "p2020.yaml").write_text("paper: p2020\nnumbers: []\n", encoding="utf-8")
    assert faults(tmp_path) == ["claims: missing"]
