from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from pruned_runs import run
from role_tables import measured, role, write

from headcount.figures import head_map, head_map_targets
from headcount.figures.head_map import Row, _figure, _row
from headcount.figures.style import ROLES, paper_style

RELEVANCE = [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]
CONFIDENCE = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
NAMED = [
    role("baseline-s1", 0, 1, "rare-1"),
    role("baseline-s1", 0, 1, "rare-2"),
    role("baseline-s1", 1, 2, "-1"),
    role("baseline-s1", 1, 2, "nsubj:to_dependent"),
    role("baseline-s1", 1, 0, "dobj:to_head", named=0),
    role("baseline-s1", 1, 1, "+1", labels="shuffled"),
]


def row(relevance: list[list[float]] | None = RELEVANCE, named: list[dict[str, Any]] | None = NAMED) -> Row:
    empty = pd.DataFrame(columns=["measure", *NAMED[0]])
    return _row(
        "en-de",
        empty if relevance is None else pd.DataFrame(measured("baseline-s1", "lrp_epsilon", relevance)),
        pd.DataFrame(measured("baseline-s1", "confidence", CONFIDENCE)),
        empty if named is None else pd.DataFrame(named),
    )


def values(axes: Axes) -> np.ndarray:
    (mesh,) = [artist for artist in axes.collections if isinstance(artist, QuadMesh)]
    return np.asarray(mesh.get_array())


def test_heads_stand_by_relevance_in_all_panels_alike() -> None:
    with paper_style():
        figure = _figure([row()], titled=False)
    relevance, confidence, functions = figure.axes[:3]
    assert values(relevance).tolist() == [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]]
    assert values(confidence).tolist() == [[0.2, 0.3, 0.1], [0.4, 0.6, 0.5]]
    written = {tuple(np.floor(text.get_position()).astype(int)): text.get_text() for text in functions.texts}
    assert {place: text for place, text in written.items() if text} == {(0, 0): "rare", (1, 1): "−1\nv→s"}
    cells = [patch for patch in functions.patches if isinstance(patch, Rectangle)]
    fills = {cell.get_xy(): to_hex(cell.get_facecolor()).upper() for cell in cells}
    assert len(fills) == 6
    assert {place: colour for place, colour in fills.items() if colour != ROLES["unnamed"]} == {
        (0, 0): ROLES["rare"],
        (1, 1): ROLES["several"],
    }
    assert row().kinds == {"rare", "several", "unnamed"}


def test_a_panel_without_numbers_is_left_out() -> None:
    def titles(shown: Row) -> list[str]:
        with paper_style():
            return [axes.get_title() for axes in _figure([shown], titled=False).axes if axes.get_title()]

    assert titles(row()) == ["(a) relevance (LRP)", "(b) confidence", "(c) functions"]
    assert titles(row(relevance=None)) == ["(a) confidence", "(b) functions"]
    assert titles(row(named=None)) == ["(a) relevance (LRP)", "(b) confidence"]
    without = row(relevance=None)
    assert without.confidence.tolist() == CONFIDENCE
    assert without.functions == {(0, 1): [("rare", "rare")], (1, 2): [("positional", "−1"), ("syntactic", "v→s")]}


def test_measured_but_nameless_heads_are_shown_as_such() -> None:
    nobody = row(named=[role("baseline-s1", 0, 0, "-1", named=0)])
    with paper_style():
        functions = _figure([nobody], titled=False).axes[2]
    assert functions.get_title() == "(c) functions"
    assert nobody.kinds == {"unnamed"}


def test_a_full_cell_ends_in_dots() -> None:
    names = [
        f"{relation}:to_{end}" for relation in ("nsubj", "dobj", "amod", "advmod") for end in ("head", "dependent")
    ]
    with paper_style():
        functions = _figure([row(named=[role("baseline-s1", 0, 1, name) for name in names])], titled=False).axes[2]
    (text,) = [text.get_text() for text in functions.texts if text.get_text()]
    assert text.startswith("s→v\n")
    assert text.endswith("\n…")


@pytest.mark.parametrize(("module", "expected"), [(head_map, ["en-de"]), (head_map_targets, ["en-fr", "en-ru"])])
def test_main_corpus_and_targets_are_two_figures(
    module: Any, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"en-de": "baseline-s1", "en-fr": "en-fr-baseline-s1", "en-ru": "en-ru-baseline-s1"}
    runs = [run(name, "baseline", corpus=corpus) for corpus, name in names.items()]
    runs += [run("baseline-s2", "baseline", seed=2)]
    confidence = [r for corpus, name in names.items() for r in measured(name, "confidence", CONFIDENCE, corpus)]
    relevance = [r for corpus, name in names.items() for r in measured(name, "lrp_epsilon", RELEVANCE, corpus)]
    tables = {"runs": runs, "observations": confidence, "relevance": relevance, "roles": NAMED}
    drawn: list[str] = []
    monkeypatch.setattr(head_map, "_figure", lambda rows, titled: drawn.extend(row.corpus for row in rows) or titled)
    monkeypatch.setattr(head_map, "save", lambda figure, out: drawn.append(out.name if figure else "untitled"))
    write(tmp_path, **{name: pd.DataFrame(rows) for name, rows in tables.items()})
    module.draw(tmp_path, tmp_path / "map.svg")
    assert drawn == [*expected, "map.svg"]


def test_one_corpus_has_no_other_targets(tmp_path: Path) -> None:
    tables = {"runs": [run("baseline-s1", "baseline")], "roles": NAMED}
    tables["observations"] = measured("baseline-s1", "confidence", CONFIDENCE)
    tables["relevance"] = measured("baseline-s1", "lrp_epsilon", RELEVANCE)
    write(tmp_path, **{name: pd.DataFrame(rows) for name, rows in tables.items()})
    head_map_targets.draw(tmp_path, tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size < 40_000
