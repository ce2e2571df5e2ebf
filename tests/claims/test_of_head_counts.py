"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import lacks, verdict
from ticket_tables import Gone, dense, drawn, heads_of, scored

from headcount.claims import of_head_counts
from headcount.claims.tables import Tables
from headcount.claims.verdict import Claim, Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

FALLING, RISING, MIDDLE, ENDS = (0, 0, 2, 2), (2, 2, 0, 0), (0, 2, 2, 0), (2, 0, 0, 2)
"""Heads gone in each of 4 layers of 2."""


def after(*rounds: Gone) -> Tables:
    """Return a study whose rounds leave these heads behind."""
    rows = [(drawn(number, gone), gone) for number, gone in enumerate(rounds, start=1)]
    return study(
        [dense(), *(row for row, _ in rows)], heads=[head for row, gone in rows for head in heads_of(row, gone)]
    )


def half(layers: tuple[int, ...]) -> Gone:
    """Return half of the 24 heads gone, of decoder self-attention those of the layers."""
    return {"encoder": FALLING, "decoder_cross": FALLING, "decoder_self": layers}


def depth(direction: str, **values: Any) -> Claim:
    settings = {"kept": (0.5,), "apart": 0.1, "attention": "decoder_self", **values}
    return claim("t", scope="all", direction=direction, **settings)


@pytest.mark.parametrize(("layers", "expected"), [(FALLING, YES), (RISING, NO), (MIDDLE, OPEN), ((0, 1, 1, 2), OPEN)])
def test_depth_decides(layers: tuple[int, ...], expected: Verdict) -> None:
    opposite = {YES: NO, NO: YES, OPEN: OPEN}
    assert verdict(of_head_counts.depth_decides, after(half(layers)), depth("falls")) == expected
    assert verdict(of_head_counts.depth_decides, after(half(layers)), depth("rises")) == opposite[expected]


def test_the_rounds_nearest_to_the_asked_shares_are_averaged() -> None:
    quarter = {"encoder": (2, 2, 2, 2), "decoder_cross": (2, 2, 2, 2), "decoder_self": (0, 0, 0, 2)}
    tables = after({"encoder": (2, 2, 0, 0)}, half(FALLING), quarter)
    both, first, last = (
        of_head_counts.depth_decides(tables, depth("falls", kept=kept)).ours for kept in ((0.5, 0.25), (0.5,), (0.25,))
    )
    assert both == pytest.approx((first + last) / 2)
    assert first != last


def test_what_cannot_tell_is_left_out_unless_all_is() -> None:
    untouched = half((0, 0, 0, 0))
    lacks(of_head_counts.depth_decides, after(untouched), depth("falls", apart=0.2), "tells anything, with 50%")
    lacks(of_head_counts.depth_decides, after({"encoder": (1, 0, 0, 0)}), depth("falls"), "so many heads left")
    lacks(of_head_counts.depth_decides, study([dense()]), depth("falls"), "no lottery rounds of scope all")


def test_the_encoder_scope_counts_encoder_heads() -> None:
    gone = {"encoder": FALLING}
    row = drawn(1, gone, scope="encoder")
    tables = study([dense(), row], heads=heads_of(row, gone))
    stated = claim("t", scope="encoder", attention="encoder", direction="falls", kept=(0.5,), apart=0.01)
    assert verdict(of_head_counts.depth_decides, tables, stated) == YES


@pytest.mark.parametrize(("layers", "expected"), [(MIDDLE, YES), (ENDS, NO), (FALLING, OPEN)])
def test_ends_outlast_middle(layers: tuple[int, ...], expected: Verdict) -> None:
    stated = claim("t", scope="all", attention="decoder_self", kept=(0.5,), apart=0.1)
    assert verdict(of_head_counts.ends_outlast_middle, after(half(layers)), stated) == expected


@pytest.mark.parametrize(("layers", "expected"), [((0, 2, 2, 2), OPEN), ((2, 0, 0, 0), NO), ((2, 2, 2, 2), None)])
def test_first_layer_holds(layers: tuple[int, ...], expected: Verdict | None) -> None:
    stated = claim("t", scope="all", attention="decoder_self", kept=(0.5,), apart=0.2, share=0.5)
    tables = after(half(layers))
    if expected is None:
        lacks(of_head_counts.first_layer_holds, tables, stated, "tells anything")
    else:
        assert verdict(of_head_counts.first_layer_holds, tables, stated) == expected


def test_first_layer_holds_what_is_left_in_every_seed() -> None:
    stated = claim("t", scope="all", attention="decoder_self", kept=(0.5,), apart=0.2, share=0.5)
    gone = half((0, 2, 2, 2))
    rows = [drawn(1, gone, seed=seed) for seed in (1, 2, 3)]
    heads = [head for row in rows for head in heads_of(row, gone)]
    tables = study([*(dense(seed=seed) for seed in (1, 2, 3)), *rows], heads=heads)
    assert verdict(of_head_counts.first_layer_holds, tables, stated) == YES


@pytest.mark.parametrize(("decoder", "expected"), [(0.8, YES), (0.4, NO), (0.51, OPEN)])
def test_scores_higher(decoder: float, expected: Verdict) -> None:
    stated = claim("t", more="decoder_self", less="encoder", tolerance=0.02)
    first, second, other = drawn(1, {}), drawn(2, {}), drawn(1, {}, run="michel-round-1-s1", variant="michel")
    scores = [
        *scored(first, 1, decoder_self=decoder),
        *scored(second, 2, decoder_self=0.0),
        *scored(other, 1, decoder_self=0.0),
    ]
    tables = study([dense(), first, second, other], rounds=scores)
    assert verdict(of_head_counts.scores_higher, tables, stated) == expected
    lacks(of_head_counts.scores_higher, study([dense(), second], rounds=scored(second, 2)), stated, "no first round")
