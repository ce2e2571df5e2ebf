"""What holds for each figure: `style` and `groups` are their common ground."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
import pytest
from matplotlib.figure import Figure

from headcount.errors import UserError
from headcount.figures.style import LOOKS, look
from headcount.registry import load, names

SHARED = {"cells", "style", "groups", "tabular", "maps", "variants", "curves", "equal_heads", "lottery_rounds"}
"""Modules of the folder that draw nothing themselves."""

NO_TABLES = {"hard_concrete"}
JUDGED = {"claims_table"}
"""Read what the verb `claims` writes; no study has it before."""

ALL = sorted(set(names("figures")) - SHARED - JUDGED)
PICTURES = [name for name in ALL if not name.endswith("_table")]
MAIN_CORPUS_ONLY = (
    "alpha_trajectories",
    "bleu_by_heads",
    "density_by_layer",
    "density_histograms",
    "density_spread",
    "gate_trajectories",
    "sparsity_and_pruning",
    "surviving_heads",
    "training_curves",
)
METHODS = [("l0",), ("lottery",), ("entmax",), ()]
SMALLER = {
    "model": {"layers_encoder": 2, "layers_decoder": 2, "width": 8, "heads": 4, "feed_forward": 8},
    "lottery": {"heads_per_round": 6, "tickets": (12, 6)},
}


@pytest.fixture
def svg_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write empty PDF files: they say the same and take most of the time."""
    save = Figure.savefig

    def svg(figure: Figure, path: Path, **settings: Any) -> None:
        if settings["format"] == "pdf":
            path.touch()
        else:
            save(figure, path, **settings)

    monkeypatch.setattr(Figure, "savefig", svg)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_vector_files_with_equal_bytes(name: str, tables_of: Callable[..., Path], tmp_path: Path) -> None:
    for out in (tmp_path / "one.svg", tmp_path / "two.svg"):
        load("figures", name).draw(tables_of(), out)
    for suffix in ("svg", "pdf"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    svg = (tmp_path / "one.svg").read_text(encoding="utf-8")
    ET.fromstring(svg)
    assert "<image" not in svg
    assert "dc:date" not in svg
    assert len(svg) < 400_000


@pytest.mark.usefixtures("svg_only")
@pytest.mark.parametrize("methods", METHODS, ids=lambda methods: "-".join(methods) or "baseline")
@pytest.mark.parametrize("name", ALL)
def test_missing_methods_are_no_fault(
    name: str, methods: tuple[str, ...], tables_of: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "figure.svg"
    load("figures", name).draw(tables_of(methods=methods, **SMALLER), out)
    assert out.is_file() or out.with_suffix(".html").is_file()


@pytest.mark.usefixtures("svg_only")
@pytest.mark.parametrize("name", ALL)
def test_several_seeds_are_summed_up(name: str, tables_of: Callable[..., Path], tmp_path: Path) -> None:
    load("figures", name).draw(tables_of(seeds=(1, 2), **SMALLER), tmp_path / "figure.svg")


@pytest.mark.usefixtures("svg_only")
@pytest.mark.parametrize("name", MAIN_CORPUS_ONLY)
def test_other_corpora_are_left_out(name: str, tables_of: Callable[..., Path], tmp_path: Path) -> None:
    for others in ("half", "double"):
        (tmp_path / others).mkdir()
        for table in ("runs", "heads", "curves", "gates", "alpha", "observations", "density", "links"):
            main = pd.read_csv(tables_of(**SMALLER) / f"{table}.csv")
            other = main.assign(corpus="other", run="other-" + main["run"])
            for column in {"bleu", "value", "alpha", "open_probability", "heads", "heads_encoder"} & set(main):
                other[column] = other[column] * (2 if others == "double" else 0.5)
            pd.concat([main, other]).to_csv(tmp_path / others / f"{table}.csv", index=False)
        load("figures", name).draw(tmp_path / others, tmp_path / f"{others}.svg")
    assert (tmp_path / "half.svg").read_bytes() == (tmp_path / "double.svg").read_bytes()


def test_the_users_matplotlib_settings_change_nothing(tables_of: Callable[..., Path], tmp_path: Path) -> None:
    draw = load("figures", "bleu_by_heads").draw
    draw(tables_of(), tmp_path / "plain.svg")
    with matplotlib.rc_context({"font.size": 30, "axes.grid": True, "svg.hashsalt": "mine", "lines.linewidth": 9}):
        before = dict(matplotlib.rcParams)
        draw(tables_of(), tmp_path / "mine.svg")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "mine.svg").read_bytes()


@pytest.mark.parametrize("name", sorted(set(ALL) - NO_TABLES))
def test_missing_tables_are_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.csv: no such table; run `headcount analyse` first"):
        load("figures", name).draw(tmp_path, tmp_path / "figure.svg")


def test_a_method_that_is_new_here_gets_a_look_of_its_own(tables_of: Callable[..., Path], tmp_path: Path) -> None:
    assert look("mine").label == "mine"
    assert look("mine").colour not in {known.colour for known in LOOKS.values()}
    tables = tmp_path / "tables"
    tables.mkdir()
    for path in tables_of(**SMALLER).glob("*.csv"):
        table = pd.read_csv(path)
        if "method" in table:
            table["method"] = table["method"].replace("entmax15", "mine")
        table.to_csv(tables / path.name, index=False)
    for name in ("bleu_by_heads", "summary_table"):
        load("figures", name).draw(tables, tmp_path / f"{name}.svg")


def test_figures_need_no_torch() -> None:
    imports = ", ".join(f"headcount.figures.{name}" for name in names("figures"))
    program = f"import sys, {imports}; sys.exit('torch' in sys.modules or 'matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
