"""What the project asks of itself: generated files are current, modules are short, every plugin has a test."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import headcount
from headcount.configdoc import generated
from headcount.registry import names

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("path", generated(ROOT), ids=lambda path: path.name)
def test_generated_files_are_current(path: Path):
    assert path.read_text(encoding="utf-8") == generated(ROOT)[path], "out of date: run `make config`"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_modules_are_short(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


@pytest.mark.parametrize("package", ["data.sources", "model.normalise", "pruning.scorers", "figures"])
def test_every_plugin_is_tested(package: str):
    assert names(package)
    untested = [name for name in names(package) if name not in TESTS]
    assert untested == []


def test_every_module_imports():
    for found in pkgutil.walk_packages(headcount.__path__, "headcount."):
        if found.name != "headcount.__main__":
            importlib.import_module(found.name)


def test_the_snakefile_needs_no_torch():
    program = "import sys, headcount.plan, headcount.fingerprint; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_helpers_of_tests_have_names_of_their_own():
    """Pytest puts their folders on one path, where the first of two equal names hides the other."""
    helpers = [path.stem for path in (ROOT / "tests").rglob("*.py") if path.stem != "conftest"]
    assert sorted(set(helpers)) == sorted(helpers)
