"""Files of results and the tables of benchmarks/README.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import results
from benchmarks.parts import Part, names
from benchmarks.rounds import Line


def record(name: str, ratio: float = 2.0) -> results.Record:
    return Line(name, "calls", [ratio], [1.0], {"data": "some"}).record({"torch": "2"})


def test_a_new_line_replaces_the_old_one_of_its_name_and_no_other(tmp_path: Path):
    path = tmp_path / "cpu.jsonl"
    results.replace(path, [record("study_wall"), record("decode_vs_hf"), record("unheard_of")])
    results.replace(path, [record("study_wall", 5.0), record("gemm_share")])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["gemm_share", "decode_vs_hf", "study_wall", "unheard_of"]
    assert results.read(path)["study_wall"]["ratio"] == 5.0
    assert set(lines[0]) == set(results.KEYS)


def test_the_table_says_which_ratio_was_wanted_and_whether_it_was_reached():
    text = results.table("cpu", {"a": record("decode_vs_ct2", 0.75), "b": record("decode_vs_ct2_int8", 1234.5)})
    (missed,) = (line for line in text.splitlines() if line.startswith("| `decode_vs_ct2`"))
    assert missed == "| `decode_vs_ct2` | 0.75 | 1 | calls | **0.75** | 0.75 to 0.75 | 0.8 | missed |"
    assert "| **1,234** | 1,234 to 1,234 |  |  |" in text
    assert "- `a`: data: some. rounds: 1. torch 2." in text


def test_rendering_changes_what_is_between_the_markers_only(tmp_path: Path):
    readme = f"before\n{results.BEGIN}\nold\n{results.END}\nafter\n"
    results.replace(tmp_path / "cpu.jsonl", [record("gemm_share")])
    results.replace(tmp_path / "gpu.jsonl", [record("gpu_step")])
    text = results.render(readme, tmp_path)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert text.index("### cpu") < text.index("`gemm_share`") < text.index("### gpu") < text.index("`gpu_step`")
    assert results.render(text, tmp_path) == text


def test_the_readme_shows_the_results_of_the_repository():
    readme = results.README.read_text(encoding="utf-8")
    assert readme == results.render(readme, results.RESULTS), "out of date: run `python -m benchmarks.results`"


def test_results_of_the_repository_are_whole():
    for path in results.RESULTS.glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert len({line["name"] for line in lines}) == len(lines)
        for line in lines:
            assert set(line) == set(results.KEYS)
            assert line["low"] <= line["ratio"] <= line["high"]
            assert path.name != "cpu.jsonl" or line["name"] in names()


def test_a_failed_comparison_is_named_with_the_end_of_its_log_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    readme = tmp_path / "README.md"
    readme.write_text(f"{results.BEGIN}{results.END}\n")
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "README", readme)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "LOGS", tmp_path / "logs")
    parts = [Part("bad", {"gemm_share": "", "decode_vs_hf": ""}, 1), Part("good", {"study_wall": ""}, 1)]
    monkeypatch.setattr(command, "chosen", lambda asked: parts)

    def run(part: Part, log: Path, clock: command.Clock) -> list[results.Record]:
        clock.tell(part, 1, 1)
        log.write_text("".join(f"line {number}\n" for number in range(99)) + "it broke\n")
        return [record(name) for name in part.names if name != "gemm_share"]

    monkeypatch.setattr(command, "run", run)
    assert command.main([]) == 1
    told = capsys.readouterr()
    assert "FAILED gemm_share; logs/gemm_share.log ends with" in told.out
    assert told.out.rstrip().endswith("it broke")
    assert "line 1\n" not in told.out
    assert "FAILED decode_vs_hf" not in told.out
    assert list(results.read(tmp_path / "cpu.jsonl")) == ["decode_vs_hf", "study_wall"]
    assert "`study_wall`" in readme.read_text()
    assert "2/2 study_wall: round 1 of 1, about 0.0 min left" in told.err


def test_a_part_that_breaks_has_no_lines_and_says_why_in_its_log(tmp_path: Path):
    part, log = Part("no_such_module", {"gemm_share": ""}, 1), tmp_path / "log"
    assert command.run(part, log, command.Clock([part])) == []
    assert "ModuleNotFoundError: No module named 'benchmarks.no_such_module'" in command.last_lines(log)


def test_an_unknown_name_is_refused_with_the_nearest_one(capsys: pytest.CaptureFixture[str]):
    assert command.main(["decode_vs_hff"]) == 2
    assert "did you mean 'decode_vs_hf'" in capsys.readouterr().err
