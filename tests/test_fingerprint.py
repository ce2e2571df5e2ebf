"""The fingerprint sees formulas and nothing else, through every import of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount import fingerprint as module
from headcount.fingerprint import fingerprint
from headcount.registry import names


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "headcount"
    (root / "core").mkdir(parents=True)
    (root / "core" / "__init__.py").write_text("")
    (root / "core" / "formula.py").write_text('"""Doc."""\n\ndef f(x):\n    """Double."""\n    return 2 * x\n')
    (root / "stage.py").write_text("from headcount.core.formula import f\n\nprint(f(1))\n")
    (root / "other.py").write_text("import json\n")
    monkeypatch.setattr(module, "PACKAGE", root)
    module._source.cache_clear()
    yield root
    module._source.cache_clear()


def changed(package: Path, name: str, text: str, of: str = "stage") -> bool:
    before = fingerprint(of)
    (package / name).write_text(text)
    module._source.cache_clear()
    return fingerprint(of) != before


def test_comments_docstrings_and_layout_change_nothing(package: Path):
    assert not changed(
        package, "core/formula.py", '"""Other."""\n# why\ndef f(x):\n    "Twice."\n    return (2 *\n x)\n'
    )


def test_a_changed_formula_changes_every_stage_that_imports_it(package: Path):
    assert changed(package, "core/formula.py", "def f(x):\n    return 3 * x\n")


def test_modules_that_are_not_imported_do_not_matter(package: Path):
    assert not changed(package, "other.py", "import os\n")


@pytest.mark.parametrize(
    "line",
    ["import headcount.core.formula", "from headcount.core import formula", "from headcount import core"],
)
def test_every_form_of_import_is_followed(package: Path, line: str):
    (package / "stage.py").write_text(line + "\n")
    module._source.cache_clear()
    name = "core/__init__.py" if line.endswith("core") else "core/formula.py"
    assert changed(package, name, "VALUE = 1\n")


def test_imports_inside_functions_and_cycles_are_followed(package: Path):
    (package / "stage.py").write_text("def run():\n    from headcount.core.formula import f\n    return f\n")
    (package / "core" / "formula.py").write_text("import headcount.stage\n")
    module._source.cache_clear()
    assert changed(package, "core/formula.py", "import headcount.stage\nVALUE = 1\n")


def test_imports_for_type_checkers_are_not_followed(package: Path):
    (package / "stage.py").write_text("if TYPE_CHECKING:\n    from headcount.core.formula import f\n")
    module._source.cache_clear()
    assert not changed(package, "core/formula.py", "def f(x):\n    return 3 * x\n")


def test_the_branch_that_runs_beside_imports_for_type_checkers_counts(package: Path):
    text = "if TYPE_CHECKING:\n    import json\nelse:\n    from headcount.core.formula import f\n"
    (package / "stage.py").write_text(text)
    module._source.cache_clear()
    assert changed(package, "core/formula.py", "def f(x):\n    return 3 * x\n")
    assert changed(package, "stage.py", text + "    VALUE = 1\n")


def test_the_settings_are_no_part_of_any_stage():
    module._source.cache_clear()
    for root in ("data.prepare", "stages.translate", "stages.begin.l0", "stages.begin.lottery_round"):
        assert "config" not in module._closure((root,))


def test_real_stages_have_distinct_fingerprints():
    module._source.cache_clear()
    assert fingerprint("stages.train") != fingerprint("stages.train", "pruning.l0")


@pytest.mark.parametrize("beginning", names("stages.begin"))
def test_a_new_setting_elsewhere_trains_nothing_again(beginning: str):
    behind = module._closure(("stages.train", f"stages.begin.{beginning}"))
    assert "model.transformer" in behind
    assert not behind & {"settings", "config", "plan", "stages.check"}
