"""From source to encoded pairs: complete, repeatable, aligned at every stage, never half done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headcount.config import Study, parse
from headcount.data.encoded import Encoded
from headcount.data.prepare import Layout, prepare
from headcount.data.subword import Subword
from headcount.data.teacher import Translations
from headcount.data.text import read_lines
from headcount.errors import UserError

SYNTHETIC = {"source": "synthetic", "synthetic": {"pairs": 120, "nouns": 6, "verbs": 4}}


def study(data: dict[str, Any], vocabulary: int = 90, dev: int = 10, test: int = 20) -> Study:
    sizes = {"dev_sentences": dev, "test_sentences": test}
    return parse({"data": {**data, **sizes}, "subword": {"vocabulary": vocabulary}})


def tsv(folder: Path, rows: list[str]) -> dict[str, Any]:
    path = folder / "corpus.tsv"
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")
    return {"source": "files", "files": {"tsv": str(path)}}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_written_and_fits_together(tmp_path: Path) -> None:
    manifest = prepare(study(SYNTHETIC), tmp_path)
    layout = Layout(tmp_path)
    assert json.loads(layout.manifest.read_text(encoding="utf-8")) == manifest
    subword = Subword(layout.subword)
    assert manifest["subword"]["size"] == subword.size == 90
    sizes = {"train": 90, "dev": 10, "test": 20}
    for part, size in sizes.items():
        texts = {side: read_lines(layout.text(part, side)) for side in ("source", "target", "alignments")}
        encoded = Encoded.load(layout.encoded(part))
        assert {len(lines) for lines in texts.values()} == {len(encoded), manifest["split"][part]["pairs"]} == {size}
        assert [encoded.source(i).tolist() for i in range(size)] == subword.encode(texts["source"])
        assert [encoded.target(i).tolist() for i in range(size)] == subword.encode(texts["target"])
        trees = layout.text(part, "conllu").read_text(encoding="utf-8").split("\n\n")[:-1]
        assert [tree.split("\n")[0] for tree in trees] == [f"# text = {source}" for source in texts["source"]]
        assert manifest["round_trip"][part]["source"] == {
            "sentences": size,
            "pieces": len(encoded.source_tokens),
            "unknown_pieces": 0,
            "changed_sentences": 0,
            "examples": [],
        }
    near = json.loads(layout.near_duplicates.read_text())
    assert manifest["near_duplicates"]["test_sentences"] == len(near)
    assert set(near) <= set(range(20))
    assert set(read_lines(layout.lookup)) <= set(read_lines(layout.text("train", "target")))
    assert len(read_lines(layout.lookup)) == 20
    assert 0 < manifest["batches"]["useful_token_share"] <= 1
    assert manifest["licence"]
    assert manifest["name"] == "synthetic"


def test_equal_settings_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare(study(SYNTHETIC), tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_pair_five_keeps_target_five_past_foreign_boundaries(tmp_path: Path) -> None:
    filler = [f"source filler{i}\ttarget filler{i}" for i in range(20)]
    rows = [
        "s one\tt one",
        "s\u2028two\tt two",
        "s\u0085three\tt three",
        "s\x0bfour\tt four",
        "s five\tt five",
        *filler,
    ]
    manifest = prepare(study(tsv(tmp_path, rows), vocabulary=60, dev=2, test=2), tmp_path / "out")
    layout = Layout(tmp_path / "out")
    found = {
        pair
        for part in ("train", "dev", "test")
        for pair in zip(*(read_lines(layout.text(part, side)) for side in ("source", "target")), strict=True)
    }
    assert found == {tuple(" ".join(row.split("\t")[side].split()) for side in (0, 1)) for row in rows}
    assert sum(manifest["split"][part]["pairs"] for part in ("train", "dev", "test")) == manifest["pairs"] == 25
    assert {note.split()[0]: count for note, count in manifest["cleaned"].items()} == {
        "U+2028": 1,
        "U+0085": 1,
        "U+000B": 1,
    }


def test_bytes_that_cannot_be_seen_do_not_change_the_corpus(tmp_path: Path) -> None:
    rows = [f"a word{i}\tein wort{i}" for i in range(12)]
    manifests = []
    for name, end in (("windows", "\r\n"), ("plain", "\n")):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "corpus.tsv"
        path.write_bytes((("\ufeff" if name == "windows" else "") + end.join(rows)).encode())
        asked = study({"source": "files", "files": {"tsv": str(path)}}, vocabulary=30, dev=2, test=3)
        manifests.append(prepare(asked, tmp_path / name / "out"))
    one, two = (contents(tmp_path / name / "out") for name in ("windows", "plain"))
    assert {name for name in one if one[name] != two[name]} == {"manifest.json"}
    assert manifests[0]["corpus_sha256"] == manifests[1]["corpus_sha256"]
    assert manifests[0]["cleaned"] == {"byte order mark at the start of a file": 1, "CR before LF": 11}
    assert not manifests[1]["cleaned"]


def test_a_test_part_is_refused_rather_than_shortened(tmp_path: Path) -> None:
    rows = [f"s{i}\tt{i}" if i % 2 else f"s{i}\t" for i in range(10)]
    with pytest.raises(
        UserError, match=r"cleaned corpus has 5 pairs; dropped: 5 empty side \(row 1: target; row 3: target"
    ):
        prepare(study(tsv(tmp_path, rows), dev=1, test=9), tmp_path / "out")


def test_nothing_left_says_why(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no pair of files is left; dropped: 2 not two columns \(row 1: 1 column; row 2: 1"
    ):
        prepare(study(tsv(tmp_path, ["a b", "c d"])), tmp_path / "out")


def test_what_the_split_leaves_out_is_in_the_manifest(tmp_path: Path) -> None:
    asked = study({**SYNTHETIC, "pairs_limit": 50})
    manifest = prepare(asked, tmp_path / "limited")
    assert {part: manifest["split"][part]["pairs"] for part in ("train", "dev", "test")} == {
        "train": 50,
        "dev": 10,
        "test": 20,
    }
    assert manifest["pairs"] == 80
    assert manifest["dropped"] == {"beyond 50 training pairs (data.pairs_limit)": 40}
    prepare(study(SYNTHETIC), tmp_path / "whole")
    for part in ("dev", "test"):
        texts = [Layout(tmp_path / name).text(part, "source").read_bytes() for name in ("limited", "whole")]
        assert texts[0] == texts[1]


def test_a_corpus_without_spaces_passes_every_stage(tmp_path: Path) -> None:
    stems = "猫犬鳥馬牛魚"
    rows = [f"{one}は{two}を見た{i}。\tThe {one} saw the {two}{i}." for i, one in enumerate(stems) for two in stems]
    manifest = prepare(study(tsv(tmp_path, rows), vocabulary=60, dev=2, test=4), tmp_path / "out")
    layout = Layout(tmp_path / "out")
    assert manifest["pairs"] == 36
    assert manifest["round_trip"]["train"]["source"]["changed_sentences"] == 0
    assert manifest["near_duplicates"]["test_sentences"] == 4
    assert all(read_lines(layout.lookup))


def test_a_failed_preparation_leaves_no_manifest_and_no_stale_trees(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "out")
    prepare(study(SYNTHETIC), layout.out)
    assert layout.text("train", "conllu").exists()
    rows = [f"a word{i}\tein wort{i}" for i in range(40)]
    with pytest.raises(UserError, match=r"subword\.vocabulary: 5000 is too large"):
        prepare(study(tsv(tmp_path, rows), vocabulary=5000), layout.out)
    assert not layout.manifest.exists()
    manifest = prepare(study(tsv(tmp_path, rows), vocabulary=40), layout.out)
    assert manifest["split"]["train"]["pairs"] == 10
    assert not layout.text("train", "conllu").exists()
    assert not [path for path in layout.out.rglob("*") if path.name.endswith(".partial")]


def test_a_student_learns_from_translations_and_is_tested_on_people(tmp_path: Path) -> None:
    teacher, student = Layout(tmp_path / "teacher"), Layout(tmp_path / "student")
    whole = prepare(study(SYNTHETIC), teacher.out)
    sources = read_lines(teacher.text("train", "source"))
    translations = ["" if line == 3 else f"{text.upper()}." for line, text in enumerate(sources)]
    made = Translations("baseline-s1", 4, teacher.text("train", "source"), tmp_path / "teacher.target")
    made.targets.write_text("".join(f"{text}\n" for text in translations), encoding="utf-8")
    manifest = prepare(study({**SYNTHETIC, "teacher": "human"}), student.out, made)
    for part in ("dev", "test"):
        for side in ("source", "target", "conllu", "alignments"):
            assert student.text(part, side).read_bytes() == teacher.text(part, side).read_bytes()
    del sources[3], translations[3]
    assert read_lines(student.text("train", "source")) == sources
    assert read_lines(student.text("train", "target")) == translations
    assert not student.text("train", "alignments").exists()
    assert student.text("train", "conllu").read_text(encoding="utf-8").count("# text") == len(sources)
    encoded, subword = Encoded.load(student.encoded("train")), Subword(student.subword)
    assert [encoded.target(i).tolist() for i in range(len(encoded))] == subword.encode(translations)
    assert set(read_lines(student.lookup)) <= set(translations)
    assert manifest["teacher"]["run"] == "baseline-s1"
    assert (
        manifest["teacher"]["sentences"] == whole["split"]["train"]["pairs"] == manifest["split"]["train"]["pairs"] + 1
    )
    assert manifest["dropped"] == {"empty translation by the teacher (data.teacher)": 1}
    assert manifest["corpus_sha256"] == whole["corpus_sha256"]
    assert "teacher" not in whole


def test_a_student_without_its_teacher_is_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.teacher: no translations by 'human'"):
        prepare(study({**SYNTHETIC, "teacher": "human"}), tmp_path)
    assert not Layout(tmp_path).manifest.exists()
