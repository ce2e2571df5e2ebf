"""Every command in the documentation exists: targets, verbs and options, and Snakemake calls that plan a study."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def commands() -> list[str]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            joined = block.replace("\\\n", " ")
            found += [line.split("  #")[0].strip() for line in joined.splitlines()]
    return sorted({line for line in found if line and not line.startswith("#")})


def program(line: str) -> str:
    return next(word for word in shlex.split(line) if "=" not in word)  # behind variables


def of(name: str) -> list[str]:
    return [line for line in commands() if Path(program(line)).name == name]


def test_the_pages_hold_commands():
    assert of("make")
    assert of("snakemake")
    assert of("headcount")
    known = {"make", "snakemake", "headcount", "git", "python", "pip", "mlflow"}
    known |= {"cd", "cp", "rm", "tail", "kill", "ssh", "tmux", "squeue", "scancel", "createdb"}
    assert {Path(program(line)).name for line in commands()} <= known


@pytest.mark.parametrize("line", of("make"))
def test_make_targets_exist(line: str):
    words = [word for word in shlex.split(line)[1:] if "=" not in word]
    assert set(words) <= TARGETS


@pytest.mark.parametrize("line", of("headcount"))
def test_verbs_and_their_options_exist(line: str):
    verb, *rest = shlex.split(line)[1:]
    if verb.startswith("-"):
        return
    shown = subprocess.run(
        [sys.executable, "-m", "headcount", verb, "--help"],
        env={"COLUMNS": "200", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for option in (word.split("=")[0] for word in rest if word.startswith("--")):
        assert option in shown


@pytest.mark.workflow
@pytest.mark.parametrize("line", of("snakemake"))
def test_snakemake_commands_plan(line: str, tmp_path: Path):
    arguments = shlex.split(line)[1:]
    configs = [Path(word) for word in arguments if word.endswith(".yaml")]
    if any(not (ROOT / path).is_file() for path in configs) or "profiles/site" in line:
        pytest.skip("names a file of the user's own")
    done = subprocess.run(
        [str(Path(sys.executable).parent / "snakemake"), *arguments, "--directory", str(tmp_path), "--dry-run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
