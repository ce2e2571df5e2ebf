from __future__ import annotations

from pathlib import Path

import pandas as pd
from pruned_runs import paper
from role_tables import role, write

from headcount.figures.dependency_accuracy_table import draw

ROWS = [
    role("baseline-s1", 0, 0, "nsubj:to_dependent", hits=400, cases=1000),
    role("baseline-s1", 0, 1, "nsubj:to_dependent", hits=500, cases=1000),
    role("baseline-s1", 0, 1, "nsubj:to_dependent", hits=150, cases=1000, labels="shuffled", named=0),
    role("baseline-s1", 0, 1, "nsubj:to_head", hits=300, cases=1000, named=0),
]
OTHER = [
    role(f"en-fr-baseline-s{seed}", 1, 0, "nsubj:to_head", hits=hits, corpus="en-fr", method="baseline")
    for seed, hits in ((1, 40), (2, 60))
]


def rows_of(markdown: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines() if line.startswith("|")
    ]


def text_of(tmp_path: Path, rows: list[dict[str, object]], **others: pd.DataFrame) -> str:
    draw(write(tmp_path, roles=pd.DataFrame(rows), **others), tmp_path / "table.html")
    assert (tmp_path / "table.html").is_file()
    return (tmp_path / "table.md").read_text(encoding="utf-8")


def test_ours_stand_beside_the_papers(tmp_path: Path) -> None:
    text = text_of(tmp_path, ROWS, paper_numbers=paper("table1"))
    _, _, first, second = rows_of(text)
    assert first[:2] == ["nsubj", "verb → subject"]
    assert first[2:] == ["50.0 [46.9, 53.1]", "35.0", "+15.0", "15.0", "1000", "1.2", "45", "35", "77", "45"]
    assert second[3:6] == ["35.0", "−5.0", "–"]
    assert "The paper: English to Russian" in text


def test_what_meets_the_criterion_is_bold(tmp_path: Path) -> None:
    text_of(tmp_path, ROWS)
    page = (tmp_path / "table.html").read_text(encoding="utf-8")
    assert "<b>50.0 [46.9, 53.1]</b>" in page
    assert "<b>30.0" not in page


def test_each_corpus_has_its_table_and_the_notes_stand_once(tmp_path: Path) -> None:
    text = text_of(tmp_path, ROWS + OTHER)
    assert [line for line in text.splitlines() if line.startswith("###")] == [
        "### en-de: accuracy of the best of 2 encoder heads on a dependency, percent",
        "### en-fr: accuracy of the best of 1 encoder heads on a dependency, percent",
    ]
    assert "50.0 ± 14.1" in text
    assert "2.1, 2.1" in text
    assert text.count("Best head:") == 1
    assert "The paper" not in text


def test_without_parses_the_table_says_so(tmp_path: Path) -> None:
    assert "No corpus of this study has parses." in text_of(tmp_path, [role("baseline-s1", 0, 0, "-1")])
