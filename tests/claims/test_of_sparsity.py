"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from hand_tables import claim, study
from sparse_tables import METHODS, by_head, cells, dense, everywhere, lacks, verdict

from headcount.claims.of_sparsity import (
    denser_by_depth,
    density_varies,
    more_dense_cells,
    more_sparse_cells,
    softmax_is_dense,
    wider_density,
)
from headcount.claims.tables import Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

MODELS = [dense(method) for method in METHODS]


def densities(**by_method: Any) -> Tables:
    """Return densities of heads: method={attention: layers}."""
    rows = [row for method, of_type in by_method.items() for row in by_head(method, "density", **of_type)]
    return study(MODELS, observations=rows)


@pytest.mark.parametrize(("lowest", "expected"), [(0.9999, YES), (0.99, NO)])
def test_softmax_is_dense(lowest: float, expected: Verdict) -> None:
    tables = densities(baseline={"encoder": [[1.0, lowest]]}, entmax15={"encoder": [[0.2]]})
    assert verdict(softmax_is_dense, tables, claim("t", density=0.999)) == expected
    sparse = densities(entmax15={"encoder": [[0.2]]})
    lacks(softmax_is_dense, sparse, claim("t", density=0.999), "baseline-s1 has no density")


DENSE, HALF_WAY, SPARSE = 1.0, 8 / 15, 1 / 15
"""Upper ends of bins."""


def histogram(*in_last_bin: int, sentences: int = 1000) -> dict[float, list[int]]:
    """Return for each head its sentences in the last bin and, the others, in the middle."""
    return {DENSE: list(in_last_bin), HALF_WAY: [sentences - count for count in in_last_bin]}


@pytest.mark.parametrize(
    ("learned", "fixed", "expected"),
    [
        (histogram(1000, 800), histogram(40, 60), YES),
        (histogram(1000, 0), histogram(0, 0), YES),
        (histogram(50, 70), histogram(40, 60), NO),
        (histogram(0, 0), histogram(40, 60), NO),
        (histogram(300, 300), histogram(40, 60), OPEN),
    ],
)
def test_more_dense_cells(learned: dict[float, list[int]], fixed: dict[float, list[int]], expected: Verdict) -> None:
    asked = claim("t", density=0.93, times=5)
    rows = cells("entmax_alpha", **everywhere(learned)) + cells("entmax15", **everywhere(fixed))
    assert verdict(more_dense_cells, study(MODELS, density=rows), asked) == expected


def test_dense_cells_are_compared_in_the_weakest_attention_type() -> None:
    asked = claim("t", density=0.93, times=5)
    learned = {**everywhere(histogram(900, 800)), "decoder_self": histogram(50, 50)}
    rows = cells("entmax_alpha", **learned) + cells("entmax15", **everywhere(histogram(50, 50)))
    assert more_dense_cells(study(MODELS, density=rows), asked).ours == pytest.approx(1)
    nothing = cells("entmax_alpha", **everywhere(histogram(0, 0))) + cells("entmax15", **everywhere(histogram(0, 0)))
    lacks(more_dense_cells, study(MODELS, density=nothing), asked, "none in either model")
    lacks(more_dense_cells, study(MODELS, density=nothing[:6]), asked, "no head of type")


def test_more_heads_do_not_make_a_share_of_cells_surer_and_more_sentences_do() -> None:
    asked = claim("t", density=0.93, times=5)

    def width(heads: int, sentences: int) -> float:
        learned, fixed = (histogram(*[sentences // part] * heads, sentences=sentences) for part in (2, 10))
        rows = cells("entmax_alpha", **everywhere(learned)) + cells("entmax15", **everywhere(fixed))
        outcome = more_dense_cells(study(MODELS, density=rows), asked)
        assert outcome.ours == pytest.approx(5)
        assert outcome.low is not None
        assert outcome.high is not None
        return outcome.high - outcome.low

    assert width(2, 1000) == pytest.approx(width(8, 1000))
    assert width(2, 1000) > width(2, 4000)


@pytest.mark.parametrize(("encoder", "expected"), [(900, YES), (100, NO), (520, OPEN)])
def test_more_sparse_cells(encoder: int, expected: Verdict) -> None:
    asked = claim("t", attention="encoder", than=["decoder_self", "decoder_cross"], density=0.2)

    def sparse(count: int) -> dict[float, list[int]]:
        return {SPARSE: [count] * 2, 0.2: [0] * 2, HALF_WAY: [1000 - count] * 2}

    of_type = {"encoder": sparse(encoder), "decoder_self": sparse(500), "decoder_cross": sparse(50)}
    assert verdict(more_sparse_cells, study(MODELS, density=cells("entmax_alpha", **of_type)), asked) == expected


def test_a_bin_that_ends_at_the_limit_is_inside() -> None:
    asked = claim("t", attention="encoder", than=["decoder_self"], density=0.2)
    of_type = {"encoder": {0.2: [5], 0.2666666667: [5]}, "decoder_self": {0.2: [0], 1.0: [10]}}
    assert more_sparse_cells(study(MODELS, density=cells("entmax_alpha", **of_type)), asked).ours == 0.5


@pytest.mark.parametrize(
    ("learned", "expected"),
    [([0.1, 0.9, 0.1, 0.9, 0.5], YES), ([0.24, 0.26, 0.24, 0.26, 0.25], NO), ([0.1, 0.2, 0.25, 0.3, 0.4], OPEN)],
)
def test_wider_density(learned: list[float], expected: Verdict) -> None:
    fixed = everywhere([[0.2, 0.3, 0.2, 0.3, 0.25]])
    of_type = {**everywhere([[0.1, 0.9, 0.1, 0.9, 0.5]]), "decoder_cross": [learned]}
    tables = densities(entmax_alpha=of_type, entmax15=fixed)
    assert verdict(wider_density, tables, claim("t", times=1.5)) == expected
    lacks(wider_density, densities(entmax15=fixed), claim("t", times=1.5), "entmax_alpha-s1 has no density")


UP = [[0.1, 0.2, 0.1], [0.9, 0.9, 0.9], [0.3, 0.4, 0.3]]
FLAT = [[0.3, 0.4, 0.3], [0.9, 0.9, 0.9], [0.4, 0.3, 0.5]]


@pytest.mark.parametrize(
    ("layers", "half", "expected"),
    [(UP, "upper", YES), (UP, "lower", NO), (UP[::-1], "lower", YES), (UP[::-1], "upper", NO), (FLAT, "upper", OPEN)],
)
def test_denser_by_depth(layers: list[list[float]], half: str, expected: Verdict) -> None:
    asked = claim("t", attention="decoder_cross", half=half)
    tables = densities(entmax_alpha={"encoder": UP, "decoder_cross": layers})
    assert verdict(denser_by_depth, tables, asked) == expected
    lacks(denser_by_depth, densities(entmax_alpha={"decoder_cross": UP[:1]}), asked, "one layer has no halves")


@pytest.mark.parametrize(("deviations", "expected"), [([0.1, 0.11], YES), ([0.01, 0.02], NO), ([0.0, 0.12], OPEN)])
def test_density_varies(deviations: list[float], expected: Verdict) -> None:
    asked = claim("t", method="entmax_alpha", spread=0.05)
    links = by_head("entmax_alpha", "density_sd", encoder=[deviations], decoder_self=[deviations])
    assert verdict(density_varies, study(MODELS, links=links), asked) == expected
    lacks(density_varies, study(MODELS, links=by_head("entmax15", "merging", encoder=[[1.0]])), asked, "no density_sd")
