"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import by_head, dense, lacks, paths, verdict

from headcount.claims.of_alpha import (
    alpha_dips,
    alpha_forgets_its_start,
    alpha_has_upper_mode,
    alpha_is_larger,
    alpha_turns,
)
from headcount.claims.tables import Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE


def learned(**of_type: Any) -> Tables:
    return study([dense("entmax_alpha")], observations=by_head("entmax_alpha", "alpha", **of_type))


def trained(*trajectories: Sequence[float], every: int = 10) -> Tables:
    return study([dense("entmax_alpha")], alpha=paths(*trajectories, every=every))


LOW, MIDDLE, HIGH = [1.18, 1.2, 1.22, 1.2], [1.3, 1.32, 1.28, 1.3], [1.5, 1.52, 1.48, 1.5]


@pytest.mark.parametrize(
    ("encoder", "cross", "expected"), [(HIGH, MIDDLE, YES), (MIDDLE, HIGH, NO), ([1.1, 1.9, 1.2, 1.4], MIDDLE, OPEN)]
)
def test_alpha_is_larger_on_average(encoder: list[float], cross: list[float], expected: Verdict) -> None:
    asked = claim("t", attention="encoder", than=["decoder_self", "decoder_cross"], statistic="mean")
    tables = learned(encoder=[encoder], decoder_self=[LOW], decoder_cross=[cross])
    assert verdict(alpha_is_larger, tables, asked) == expected
    lacks(alpha_is_larger, learned(encoder=[encoder], decoder_self=[LOW]), asked, "no head of type decoder_cross")


@pytest.mark.parametrize(
    ("encoder", "expected"), [([1.0, 1.4, 1.2, 1.0, 1.4], YES), ([1.2] * 5, NO), ([1.19, 1.2, 1.21, 1.2, 1.25], OPEN)]
)
def test_alpha_is_wider(encoder: list[float], expected: Verdict) -> None:
    asked = claim("t", attention="encoder", than=["decoder_self"], statistic="spread")
    tables = learned(encoder=[encoder], decoder_self=[[1.18, 1.2, 1.22, 1.18, 1.22]])
    assert verdict(alpha_is_larger, tables, asked) == expected


@pytest.mark.parametrize(
    ("encoder", "expected"),
    [
        ([1.9] * 6 + [1.2] * 12, YES),
        ([1.7] * 6 + [1.2] * 12, NO),
        ([1.3] * 12, NO),
        ([1.8, 1.9, 1.7] + [1.2] * 12, OPEN),
    ],
)
def test_alpha_has_upper_mode(encoder: list[float], expected: Verdict) -> None:
    asked = claim("t", attention="encoder", valley=[1.6, 1.8])
    tables = learned(encoder=[encoder], decoder_self=[[1.9, 1.9, 1.9]])
    assert verdict(alpha_has_upper_mode, tables, asked) == expected
    lacks(alpha_has_upper_mode, study([dense("entmax_alpha")]), asked, "no rows in observations")


FALLS = [1.5, *[1.4] * 9, *[1.5] * 10]
RISES = [1.5, *[1.6] * 19]


@pytest.mark.parametrize(
    ("heads", "expected"), [([FALLS] * 4, YES), ([RISES] * 4, NO), ([FALLS, RISES, FALLS, RISES], OPEN)]
)
def test_alpha_dips(heads: list[list[float]], expected: Verdict) -> None:
    assert verdict(alpha_dips, trained(*heads), claim("t", window=[0.1, 0.3])) == expected


def test_alpha_dips_looks_at_the_window_only() -> None:
    late = [*[1.5] * 10, *[1.4] * 10]
    tables = trained(late, late, late)
    assert alpha_dips(tables, claim("t", window=[0.05, 0.45])).ours == 0
    assert alpha_dips(tables, claim("t", window=[0.6, 0.7])).ours == pytest.approx(0.1)
    lacks(alpha_dips, tables, claim("t", window=[0.01, 0.02]), "not recorded in this part")
    lacks(alpha_dips, trained([1.5], [1.5], [1.5]), claim("t", window=[0, 1]), "no α over the updates")


@pytest.mark.parametrize(("end", "expected"), [("reversed", YES), ("same", NO), ("mixed", OPEN)])
def test_alpha_forgets_its_start(end: str, expected: Verdict) -> None:
    starts = [1 + number / 20 for number in range(20)]
    mixed = [starts[(place + 4 * (place % 2)) % 20] for place in range(20)]
    ends = {"reversed": starts[::-1], "same": [start / 2 + 0.6 for start in starts], "mixed": mixed}[end]
    tables = trained(*zip(starts, ends, strict=True))
    assert verdict(alpha_forgets_its_start, tables, claim("t", correlation=0.5)) == expected


TURNS, ONLY_FALLS = [1.5, 1.4, 1.5], [1.5, 1.4, 1.4]


@pytest.mark.parametrize(("turning", "steady", "expected"), [(10, 10, YES), (0, 99, NO), (1, 19, OPEN)])
def test_alpha_turns(turning: int, steady: int, expected: Verdict) -> None:
    tables = trained(*[TURNS] * turning, *[ONLY_FALLS] * steady)
    assert verdict(alpha_turns, tables, claim("t", depth=0.05, share=0.05)) == expected


def test_a_turn_goes_down_before_it_goes_up() -> None:
    tables = trained([1.5, 1.6, 1.5], [1.5, 1.46, 1.6], TURNS)
    assert alpha_turns(tables, claim("t", depth=0.05, share=0.05)).ours == pytest.approx(1 / 3)
