"""Distances of dependents from the trees of each corpus, for the relations that were tested."""

from __future__ import annotations

import json
from pathlib import Path

from small_observation import CRITERIA, finished

from headcount.analysis.relations import COLUMNS, relations_table
from headcount.data.trees import Word, best_fixed_offset, offsets, text_of


def tree(*words: tuple[int, str]) -> tuple[Word, ...]:
    return tuple(Word("x", head, relation, "x") for head, relation in words)


def test_relations_are_counted_for_each_corpus_with_trees(tmp_path: Path):
    trees = {
        "en-de": [tree((2, "nsubj"), (0, "root"), (2, "dobj")), tree((3, "nsubj"), (3, "aux"), (0, "root"))],
        "en-fr": [tree((0, "root"), (1, "dobj"))],
        "en-es": [],
    }
    runs = [finished(tmp_path, corpus, corpus=corpus) for corpus in (*trees, "fr-de")]
    for run in runs:
        (run.folder / "roles.json").write_text(
            json.dumps({"criteria": CRITERIA, "relations": ["nsubj", "dobj"], "heads": []})
        )
    for corpus, of in trees.items():
        (tmp_path / "data" / corpus).mkdir(parents=True)
        (tmp_path / "data" / corpus / "dev.conllu").write_text(text_of(of))
    table = relations_table(tmp_path, runs)
    assert tuple(table.columns) == COLUMNS
    assert [tuple(row) for row in table.itertuples(index=False)] == [
        ("en-de", "dobj", 1, 1),
        ("en-de", "nsubj", -2, 1),
        ("en-de", "nsubj", -1, 1),
        ("en-fr", "dobj", 1, 1),
    ]
    counts = table[(table["corpus"] == "en-de") & (table["relation"] == "nsubj")]["count"]
    assert counts.max() / counts.sum() == best_fixed_offset(offsets(trees["en-de"]), "nsubj")


def test_runs_without_named_heads_ask_for_no_relations(tmp_path: Path):
    (tmp_path / "data" / "en-de").mkdir(parents=True)
    (tmp_path / "data" / "en-de" / "dev.conllu").write_text(text_of([tree((2, "nsubj"), (0, "root"))]))
    assert relations_table(tmp_path, [finished(tmp_path)]).empty
