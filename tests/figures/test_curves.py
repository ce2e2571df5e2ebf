from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from headcount.figures.curves import TICKS, curve, removed_axis, row_of, shifts, thinned
from headcount.figures.groups import Value
from headcount.figures.style import look


def test_heads_kept_stand_above_the_share_that_was_removed() -> None:
    axes = Figure().subplots()
    removed_axis(axes, [18, 36], 72, "heads")
    above = next(child for child in axes.child_axes if child.get_xlabel() == "heads kept (of 72)")
    assert list(axes.get_xticks()) == pytest.approx([0.5, 0.75])
    assert [label.get_text() for label in above.get_xticklabels()] == ["36", "18"]
    low, high = axes.get_xlim()
    assert low < 0.5 < 0.75 < high


def test_one_size_has_an_axis_too() -> None:
    axes = Figure().subplots()
    assert removed_axis(axes, [18], 72, "heads") > 0


@pytest.mark.parametrize("places", [1, TICKS, TICKS + 1, 40])
def test_ticks_are_few_and_end_at_the_last_place(places: int) -> None:
    ticks = thinned(range(places))
    assert len(ticks) <= TICKS
    assert ticks[-1] == places - 1


def test_curves_stand_side_by_side_around_their_place() -> None:
    moved = shifts(3, width=2.0)
    assert moved == sorted(moved)
    assert sum(moved) == pytest.approx(0)


def test_a_curve_joins_its_points_in_order() -> None:
    axes = Figure().subplots()
    points = {0.75: Value(2.0, 1.0, 2.5, 2), 0.5: Value(3.0, 3.0, 3.0, 1)}
    curve(axes, points, look("ticket"), 0.25)
    assert axes.lines[0].get_xdata() == pytest.approx([0.75, 1.0])
    assert axes.lines[0].get_ydata() == pytest.approx([3.0, 2.0])


@pytest.mark.parametrize(("panels", "columns"), [(1, 1), (2, 2), (3, 2)])
def test_panels_fill_rows(panels: int, columns: int) -> None:
    figure, found = row_of(panels, most=2, row_inches=1.0, legend_inches=0.5)
    assert len(found) == panels
    assert found[0].get_gridspec().ncols == columns
    assert figure.get_figheight() == pytest.approx(-(-panels // columns) + 0.5)
