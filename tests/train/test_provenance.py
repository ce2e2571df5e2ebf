from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headcount.train import provenance


def test_outside_of_a_checkout_there_is_no_commit(tmp_path: Path):
    assert provenance.git(tmp_path) == {"commit": "", "dirty": False}


def test_a_machine_without_tools_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.git(tmp_path) == {"commit": "", "dirty": False}
    assert provenance.hardware()["gpus"] == []


def test_commit_and_changes(tmp_path: Path):
    def git(*arguments: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *author, *arguments], check=True, capture_output=True)

    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("1\n", encoding="utf-8")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "notes").write_text("not code\n", encoding="utf-8")
    clean = provenance.git(code)
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (code / "a.py").write_text("2\n", encoding="utf-8")
    assert provenance.git(code) == {"commit": clean["commit"], "dirty": True}


def test_versions_and_hardware_are_plain_values():
    assert provenance.versions()["torch"].startswith("2.")
    described = provenance.hardware()
    assert described["cpu"]
    assert described["cores"] >= 1
    assert described["memory_gib"] > 0
